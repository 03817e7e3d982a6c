"""What stands in files as a secret of known form never enters the log, and comes through every change of its file unharmed."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.ports.runtime import Observation, Refused
from agentic.tools.base.secret_placeholders import mask, placeholders_in, reveal
from bot.app.console_link.console_answers import NEWEST
from bot.local_discord.local_discord import LocalGuild
from bot.progress.feed import TAIL_KEPT, TAIL_SHOWN, Feed
from tests.integration.bot.whole import finishes, uses, whole
from tests.integration.tools.bench import Bench, open_bench

from .tally import Wall

DRAWN = random.Random(4711)
WORD, HEX, LOWER = string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_lowercase + string.digits


def drawn(count: int, letters: str = WORD) -> str:
    """Letters drawn by lot, with a digit and a letter among them."""
    return "".join(DRAWN.choices(letters, k=count - 2)) + "7b"


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def key_block(kind: str = "RSA ", lines: int = 25) -> str:
    body = "\n".join(drawn(64) for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def upper(count: int) -> str:
    return drawn(count, string.ascii_uppercase + "234567").upper()


TOKENS = {
    "AWS": f"AKIA{upper(16)}", "AWS session": f"ASIA{upper(16)}", "Bedrock": f"ABSK{drawn(120)}",
    **{f"GitHub {kind}": f"gh{kind}_{drawn(36)}" for kind in "pousr"},
    "GitHub fine-grained": f"github_pat_{drawn(22)}_{drawn(59)}",
    **{f"GitLab {kind}": f"{kind}-{drawn(20)}" for kind in ("glpat", "gldt", "glrt", "glptt", "glsoat", "glimt")},
    "Slack bot": f"xoxb-7719482011-7719482099-{drawn(24)}", "Slack user": f"xoxp-{drawn(11)}-{drawn(11)}-{drawn(30)}",
    "Slack app": f"xapp-1-{upper(11)}-7719482011-{drawn(64, HEX)}", "Slack config": f"xoxe.xoxp-1-{upper(163)}",
    "Slack webhook": f"https://hooks.slack.com/services/T{upper(9)}/B{upper(9)}/{drawn(24)}",
    "Discord": f"{base64.b64encode(b'198622483471925248').decode().rstrip('=')}.Cl2FMQ.{drawn(38)}",
    "Discord webhook": f"https://discord.com/api/webhooks/1098622483471925248/{drawn(68)}",
    "OpenAI": f"sk-{drawn(20)}T3BlbkFJ{drawn(20)}", "OpenAI project": f"sk-proj-{drawn(74)}T3BlbkFJ{drawn(74)}",
    "OpenAI service": f"sk-svcacct-{drawn(58)}T3BlbkFJ{drawn(58)}", "DeepSeek": f"sk-{drawn(32, HEX)}",
    "Anthropic": f"sk-ant-api03-{drawn(93)}AA", "Anthropic admin": f"sk-ant-admin01-{drawn(93)}AA",
    "OpenRouter": f"sk-or-v1-{drawn(64, HEX)}", "Google": f"AIza{drawn(35)}", "Google secret": f"GOCSPX-{drawn(28)}",
    "Google token": f"ya29.{drawn(120)}", "Stripe": f"sk_live_{drawn(24)}", "Stripe restricted": f"rk_test_{drawn(98)}",
    "Stripe webhook": f"whsec_{drawn(32)}", "npm": f"npm_{drawn(36)}", "PyPI": f"pypi-AgEIcHlwaS5vcmc{drawn(120)}",
    "RubyGems": f"rubygems_{drawn(48, HEX)}", "crates.io": f"cio{drawn(32)}", "Docker": f"dckr_pat_{drawn(27)}",
    "Hugging Face": f"hf_{drawn(34)}", "Groq": f"gsk_{drawn(52)}", "xAI": f"xai-{drawn(80)}",
    "Perplexity": f"pplx-{drawn(48)}",
    "Replicate": f"r8_{drawn(37)}", "SendGrid": f"SG.{drawn(22)}.{drawn(43)}", "Twilio": f"SK{drawn(32, HEX)}",
    "DigitalOcean": f"dop_v1_{drawn(64, HEX)}", "Shopify": f"shpat_{drawn(32, HEX)}", "Square": f"sq0atp-{drawn(22)}",
    "Telegram": f"7719482011:AA{drawn(33)}", "Atlassian": f"ATATT3{drawn(186)}", "Linear": f"lin_api_{drawn(40)}",
    "Notion": f"ntn_{drawn(46)}", "Databricks": f"dapi{drawn(32, HEX)}", "Grafana": f"glsa_{drawn(32)}_{drawn(8, HEX)}",
    "New Relic": f"NRAK-{upper(27)}", "Postman": f"PMAK-{drawn(24, HEX)}-{drawn(34, HEX)}", "Vault": f"hvs.{drawn(95)}",
    "Terraform": f"{drawn(14)}.atlasv1.{drawn(67)}", "Azure storage": f"AccountKey={drawn(86)}==",
    "Azure": f"ab{drawn(4)[-2]}7Q~{drawn(34)}", "Supabase": f"sbp_{drawn(40, HEX)}",
    "Tailscale": f"tskey-auth-{drawn(12)}-{drawn(32)}",
    "Sentry": f"sntrys_{drawn(120)}", "age": f"AGE-SECRET-KEY-1{upper(58)}",
    "signed token": f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part({'sub': '4711', 'name': 'Ada'})}.{drawn(43)}",
}  # fmt: skip
"""A token of each form, as its provider makes them."""
AROUND = (
    "{}",
    "TOKEN={}\n",
    'const key = "{}";',
    "  - name: k\n    value: {}\n",
    "https://x.test/?k={}&y=1",
    "[{}]",
    "a\t{}\tb",
    '{{"k":"{}"}}',
    "export K='{}' # mine",
    "12:{}",
    "\N{LEFT DOUBLE QUOTATION MARK}{}\N{RIGHT DOUBLE QUOTATION MARK}",
)

NAMED = (
    "DB_PASSWORD={}",
    "password: {}",
    'password = "{}"',
    "PASSWORD={} python app.py",
    '"client_secret": "{}"',
    "SECRET_KEY='{}'",
    'SECRET_KEY = "django-insecure-{}"',
    "api_key={}",
    "apiKey: '{}',",
    "X-Api-Key: {}",
    "access_token={}&scope=x",
    'token: str = "{}"',
    "aws_secret_access_key = {}",
    "//registry.test/:_authToken={}",
    "Authorization: Bearer {}",
    '{{\\"password\\": \\"{}\\"}}',
    "MYSQL_ROOT_PASSWORD: {}",
    "AUTH_TOKEN:={}",
    "'passphrase' => '{}'",
    "--token={}",
    "SharedAccessKey={}=",
    '"auth": "{}"',
    "signing_key: {}",
    "credentials={}",
    "process.env.SESSION_SECRET = `{}`",
)
ADDRESSES = (
    "postgres://app:{}@db.internal:5432/app",
    "DATABASE_URL=mysql://root:{}@localhost/x",
    "redis://:{}@cache:6379/0",
    "amqps://user:{}@mq.test/vhost",
    "https://bot:{}@git.test/a.git",
    "mongodb+srv://u:{}@c0.mongodb.net/?retryWrites=true",
)

ORDINARY = (
    hashlib.sha1(b"x").hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    f"sha512-{base64.b64encode(hashlib.sha512(b'x').digest()).decode()}",
    str(uuid.UUID(int=DRAWN.getrandbits(128))),
    f"commit {hashlib.sha1(b'y').hexdigest()}",
    f"data:image/png;base64,{base64.b64encode(DRAWN.randbytes(3_000)).decode()}",
    base64.b64encode(DRAWN.randbytes(800)).decode(),
    '"integrity": "sha512-Ab7+/Cd9==",',
    '"js-tokens": "^3.0.0 || ^4.0.0",',
    '"node_modules/@octokit/auth-token": {"version": "5.1.1"}',
    f'content-hash = "{hashlib.sha256(b"z").hexdigest()}"',
    f'"cache_key": "{hashlib.md5(b"k", usedforsecurity=False).hexdigest()}"',
    'key = "user:4711:profile"',
    "max_tokens = 2_000_000",
    "tokens: 128000",
    'tokenizer = "cl100k_base_v2_2024"',
    "token = get_token(user_id_2)",
    "token=settings.api_token_2",
    "self.password = password1_field",
    "password: str | None = None",
    'password = os.environ["DB_PASSWORD_2"]',
    "PASSWORD=${DB_PASSWORD_2}",
    "password: {{ vault_db_password_2 }}",
    "PASSWORD=changeme1234",
    "API_KEY=your-api-key-1234-here",
    "token=<your token 1234567>",
    'secret_name = "my-app-prod-2024-secret"',
    "SECRET_FILE=/run/secrets/db1_password",
    "postgres://user:password@localhost/db",
    "https://user:${TOKEN_2}@git.test",
    "https://x.test:8080/a@b",
    "ssh://git@github.com:22/a.git",
    "AKIAIOSFODNN7EXAMPLE",
    "the class sk-loading-spinner-container",
    "task_live_reload_of_things_that_change",
    "import gho_st as ghost_writer",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC\n-----END PUBLIC KEY-----",
    'if "-----BEGIN RSA PRIVATE KEY-----" in text:\n    raise ValueError("a private key")\n',
    "BEGIN PRIVATE KEY",
    "eyJust.eyJoking",
    "module.config.another_quite_long_function_name_of_mine",
    "Monster.abcdef.abcdefghijklmnopqrstuvwxyzabc",
    "ciocolatta" * 4,
    "registry.npmjs.org/token-types/-/token-types-4.2.1.tgz",
    "h1:Ab7+/Cd9efGhIjKlMnOpQrStUvWxYz0123456789abc=",
    "basic troubleshooting-of-things",
    "def secret_santa(person1, person2): ...",
    "assert response.json()['token'] == expected_token_1",
    "bearer of bad news-and-more-words",
    "[secret: GitHub token]",
    "password = [secret: password 2]",
    "auth: basic",
    '"auth": "required"',
    "uses: actions/checkout@v4.2.1",
    "password = base64.b16encode(token)",
    "credentials = standard_b64encode(login)",
    "private_key = ed25519.Ed25519PrivateKey.from_private_bytes(data)",
    "def sign(private_key: ed25519.Ed25519PrivateKey) -> bytes: ...",
    "tokenType: TokenType.Base64Url,",
    "PASSWORD_HASHERS=django.contrib.auth.hashers.PBKDF2PasswordHasher",
    '"password_reset_2fa": "auth.password.reset2fa"',
)
"""What people have in their files, and no secret."""


@pytest.mark.wall("keys")
def test_every_known_form_is_masked_wherever_it_stands(wall: Wall) -> None:
    for name, secret in TOKENS.items():
        core = secret[-16:] if "=" not in secret[-3:] else secret[-20:-3]
        for around in AROUND:
            shown = mask(around.format(secret)).text
            wall.held(f"{name} in {around!r}", core not in shown and bool(placeholders_in(shown)), shown[:120])
    for around in NAMED:
        value = drawn(24)
        wall.held(around, value not in mask(around.format(value)).text)
    for around in ADDRESSES:
        value = drawn(9)
        wall.held(around, value not in mask(around.format(value)).text)


@pytest.mark.wall("keys")
@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
def test_private_keys_are_masked_whole_and_cut(kind: str, wall: Wall) -> None:
    block = key_block(kind)
    lines = block.split("\n")
    for form, text in {
        "whole": block,
        "in JSON": json.dumps({"private_key": block}),
        "numbered": "\n".join(f"{n}\t{x}" for n, x in enumerate(lines)),
        "in a diff": "\n".join(f"+{x}" for x in lines),
        "indented": "\n".join(f"    {x}" for x in lines),
        "CR LF": "\r\n".join(lines),
        "without its end": "\n".join(lines[:12]) + "\nand more\n",
        "without its beginning": "the rest\n" + "\n".join(lines[12:]) + "\nx",
    }.items():
        shown = mask(f"before\n{text}\nafter\n").text
        held = (
            not any(line in shown for line in lines[1:-1]) and shown.startswith("before") and shown.endswith("after\n")
        )
        wall.held(f"{kind}{form}", held, shown[:300])
        assert shown.count("\n") == text.count("\n") + 3  # the numbers of lines stay


def test_ordinary_text_stays_as_it_is() -> None:
    assert [text for text in ORDINARY if mask(text).text != text] == []
    together = "\n".join(ORDINARY)
    assert mask(together).text == together


def test_what_streams_by_on_a_card_shows_no_half_of_a_secret() -> None:
    token, feed = TOKENS["GitHub p"], Feed()
    feed.streamed("x1", f"DB_PASSWORD={drawn(24)}\n{token} ")
    assert feed.tail("x1") == "DB_PASSWORD=[redacted]\n[redacted] "
    for _ in range(TAIL_KEPT // 7):
        feed.streamed("x1", "a word ")
        assert token[-8:] not in feed.tail("x1") + feed.tail("x1", NEWEST)
    assert (len(feed.tail("x1")), len(feed.tail("x1", NEWEST))) == (TAIL_SHOWN, NEWEST)


def test_masking_again_changes_nothing_and_the_secrets_come_back() -> None:
    everything = "\n".join(
        [*TOKENS.values(), key_block(), *(form.format(drawn(24)) for form in NAMED + ADDRESSES), *ORDINARY]
    )
    shown = mask(everything)
    assert mask(shown.text).text == shown.text
    assert reveal(shown.text, shown.hidden) == everything
    assert len(shown.hidden) >= len(TOKENS) + len(NAMED) + len(ADDRESSES)


def test_a_placeholder_says_nothing_of_how_long_its_secret_is() -> None:
    assert {mask(f"TOKEN={drawn(size)}").text for size in (12, 40, 200)} == {"TOKEN=[secret: token]"}
    assert mask("A=ghp_" + "a7" * 18 + " B=ghp_" + "b8" * 18 + " A=ghp_" + "a7" * 18).text == (
        "A=[secret: GitHub token] B=[secret: GitHub token 2] A=[secret: GitHub token]"
    )


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """A sandbox and an agent's tools in it."""
    async with open_bench() as opened:
        yield opened


GITHUB, SLACK, WORDS = TOKENS["GitHub p"], TOKENS["Slack bot"], drawn(20)
ENV = f"# settings\nGITHUB_TOKEN={GITHUB}\nDEBUG=1\nSLACK={SLACK}\nDB_PASSWORD={WORDS}\n"


def leaks(seen: Observation) -> bool:
    """Whether anything of an observation that is logged holds a secret."""
    logged = f"{seen.preview}{seen.error}{(seen.output or b'').decode()}{seen.question}"
    return any(secret in logged for secret in (GITHUB, SLACK, WORDS))


@pytest.mark.wall("keys")
async def test_no_tool_brings_a_secret_into_the_log(bench: Bench, wall: Wall) -> None:
    path = bench.put("conf/app.env", ENV)
    path.chmod(0o666)
    bench.put("many.txt", f"{ENV}\n" * 600)
    bench.put("key.pem", key_block(lines=40))
    flood = "; ".join(["cat conf/app.env", "seq 9000", "cat conf/app.env", "seq 9000", "cat conf/app.env"])
    for tool, arguments in (
        ("read", {"path": "conf/app.env"}),
        ("read", {"path": "many.txt", "offset": 900}),
        ("grep", {"pattern": "TOKEN|SLACK|PASSWORD"}),
        ("grep", {"pattern": "DEBUG", "context": 3, "limit": 2000}),
        ("shell", {"command": "cat conf/app.env"}),
        ("shell", {"command": "cat conf/app.env; false"}),
        ("shell", {"command": "cat conf/app.env >&2; exit 3"}),
        ("shell", {"command": "false", "fallback": "cat conf/app.env"}),
        ("shell", {"command": flood}),
        ("shell", {"command": "cat many.txt many.txt"}),
        ("python", {"code": "open('conf/app.env').read()"}),
        ("python", {"code": "raise ValueError(open('conf/app.env').read())"}),
        ("python", {"code": "print(open('many.txt').read())"}),
        ("shell", {"command": "diff conf/app.env /dev/null"}),
        ("shell", {"command": "printf '\\033[31m'; grep --color=always . conf/app.env"}),
        ("edit", {"path": "conf/app.env", "old": "DEBUG=1", "new": "DEBUG=0"}),
        ("edit", {"path": "conf/app.env", "old": "no such", "new": "x"}),
        ("edit", {"path": "conf/app.env", "old": "SLACK =", "new": "x"}),
    ):
        seen = await bench.call(tool, **arguments)  # pyright: ignore[reportArgumentType]
        wall.held(
            f"{tool} {arguments}",
            (not leaks(seen) and "[secret: " in seen.preview) or "nothing in the file" in seen.preview.lower(),
            seen.preview[:200],
        )
        if seen.output_ref:
            pages = [
                await bench.call("read_output", ref=seen.output_ref, offset=at, limit=997)
                for at in range(0, 60_000, 997)
            ]
            whole = "".join(page.preview.rpartition("\n…")[0] for page in pages)
            wall.held(
                f"pages of {tool} {arguments}",
                not any(each in whole for each in (GITHUB, SLACK, WORDS)),
                "cut by a page",
            )
            found = await bench.call("read_output", ref=seen.output_ref, pattern="TOKEN")
            wall.held(f"search in {tool} {arguments}", not leaks(found))
    started = await bench.call("shell", command="cat conf/app.env", background=True)
    wall.held("job", not leaks(await bench.call("job", job=started.job, wait=60)))
    key = await bench.call("read", path="key.pem", offset=10, limit=5)
    wall.held("the middle of a key", not any(len(line) > 40 for line in key.preview.split("\n")[:-1]), key.preview)
    assert (bench.workspace / "conf/app.env").read_text() == ENV.replace("DEBUG=1", "DEBUG=0")


async def test_a_line_with_a_placeholder_is_edited_and_keeps_its_secret(bench: Bench) -> None:
    path = bench.put("app.env", ENV)
    await bench.call("read", path="app.env")
    seen = await bench.call(
        "edit", path="app.env", old="SLACK=[secret: Slack token]", new="SLACK_TOKEN='[secret: Slack token]'"
    )
    assert seen.outcome == "ok", seen.preview
    assert path.read_text() == ENV.replace(f"SLACK={SLACK}", f"SLACK_TOKEN='{SLACK}'")
    assert not leaks(seen)
    seen = await bench.call(
        "multi_edit",
        path="app.env",
        edits=[{"old": "GITHUB_TOKEN=[secret: GitHub token]\n", "new": ""}, {"old": "DEBUG=1", "new": "DEBUG=2"}],
    )
    assert seen.outcome == "ok", seen.preview
    assert GITHUB not in path.read_text()


async def test_a_file_that_is_written_whole_keeps_its_secrets(bench: Bench) -> None:
    path = bench.put("app.env", ENV)
    block = key_block()
    pem = bench.put("key.pem", f"# mine\n{block}\n# end\n")
    shown = (await bench.call("read", path="app.env")).preview
    content = "\n".join(line.partition("\t")[2] for line in shown.split("\n")) + "\n"
    seen = await bench.call("write", path="app.env", content=content.replace("DEBUG=1", "DEBUG=3"))
    assert seen.outcome == "ok", seen.preview
    assert path.read_text() == ENV.replace("DEBUG=1", "DEBUG=3")
    shown = (await bench.call("read", path="key.pem")).preview
    assert shown.split("\n")[-1] == f"{block.count(chr(10)) + 3}\t# end"
    content = "\n".join(line.partition("\t")[2] for line in shown.split("\n")) + "\n"
    await bench.call("write", path="key.pem", content=content.replace("mine", "yours"))
    assert pem.read_text() == f"# yours\n{block}\n# end\n"


@pytest.mark.wall("keys")
async def test_a_placeholder_never_takes_the_place_of_a_secret(bench: Bench, wall: Wall) -> None:
    path = bench.put("app.env", ENV)
    await bench.call("read", path="app.env")
    for tool, arguments in (
        ("edit", {"path": "app.env", "old": "DEBUG=1", "new": "COPY=[secret: GitHub token]"}),
        ("edit", {"path": "app.env", "old": "DEBUG=1", "new": "X=[secret: Stripe key]"}),
        ("edit", {"path": "app.env", "old": "GITHUB_TOKEN=[secret: Slack token]", "new": "x"}),
        ("edit", {"path": "app.env", "old": "GITHUB_TOKEN=[secret: GitHub token 2]", "new": "x"}),
        ("multi_edit", {"path": "app.env", "edits": [{"old": "DEBUG=1", "new": "[secret: value]"}]}),
        ("write", {"path": "app.env", "content": "A=[secret: GitHub token 3]\n"}),
        ("write", {"path": "copy.env", "content": "A=[secret: GitHub token]\n"}),
    ):
        seen = await bench.call(tool, **arguments)  # pyright: ignore[reportArgumentType]
        wall.held(
            f"{tool} {arguments}", seen.outcome in ("refused", "failed") and path.read_text() == ENV, seen.preview
        )
    assert not (bench.workspace / "copy.env").exists()
    for tool, arguments in (
        ("shell", {"command": "sed -i 's/^SLACK=.*/SLACK=[secret: Slack token]/' app.env"}),
        ("shell", {"command": "true", "fallback": "echo '[secret: token]' > app.env"}),
        ("python", {"code": "open('app.env','w').write('A=[secret: GitHub token]')"}),
    ):
        answer = bench.toolbox.prepare(tool, arguments)  # pyright: ignore[reportArgumentType]
        wall.held(f"{tool} {arguments}", isinstance(answer, Refused) and "Let the command read it" in answer.text)


async def test_words_that_look_like_a_placeholder_and_stand_in_the_file_can_be_edited(bench: Bench) -> None:
    path = bench.put("doc.md", f"It shows [secret: GitHub token] for {GITHUB}.\n")
    shown = await bench.call("read", path="doc.md")
    assert shown.preview == "1\tIt shows [secret: GitHub token] for [secret: GitHub token 2]."
    await bench.call(
        "edit", path="doc.md", old="shows [secret: GitHub token] for", new="prints [secret: GitHub token] for"
    )
    assert path.read_text() == f"It prints [secret: GitHub token] for {GITHUB}.\n"


@pytest.mark.wall("keys")
async def test_what_is_kept_of_a_task_and_sent_to_models_holds_no_secret_of_its_files(
    tmp_path: Path, wall: Wall
) -> None:
    home = tmp_path / "home"
    script = [
        uses("shell", command="mkdir -p conf"),
        finishes("Made."),
        uses("read", path="conf/app.env"),
        uses("shell", command="cat conf/app.env; grep -n SLACK conf/app.env; exit 3"),
        uses("python", code="print(open('conf/app.env').read())"),
        uses("edit", path="conf/app.env", old="SLACK=[secret: Slack token]", new="SLACK_TOKEN=[secret: Slack token]"),
        finishes("Renamed it."),
    ]
    async with await LocalGuild.start() as guild, ScriptedEndpoint.start(script) as endpoint:
        guild.attach()
        async with whole(home, endpoint, guild) as running:
            thread = await running.task("make a folder")
            await running.says(thread, "Made.")
            file = running.workspace(thread) / "conf/app.env"
            file.write_text(ENV)
            file.chmod(0o666)
            file.parent.chmod(0o777)
            await guild.post(thread, f"{guild.bot.mention} rename SLACK")
            await running.says(thread, "Renamed it.")
            assert file.read_text() == ENV.replace("SLACK=", "SLACK_TOKEN=")
            said = "".join(message.content + str(message.embeds) for message in guild.messages(thread))
    sent = "".join(json.dumps(request.body) for request in endpoint.requests)
    beside = {"workspaces", "checkpoints"}
    kept = {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and path.relative_to(home).parts[0] not in beside
    }
    assert "[secret: GitHub token]" in sent
    for secret in (GITHUB, SLACK, WORDS):
        wall.held("what models were sent", secret not in sent)
        wall.held("what people were shown", secret not in said)
        for name, content in kept.items():
            wall.held(f"the file {name}", secret.encode() not in content)
