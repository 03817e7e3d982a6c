"""Files of a home that processes on several machines share: each home here is that of another machine."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agentic.aws.aws_place import AwsPlace
from agentic.mcp_client.oauth.kept_tokens import Grant, KeptTokens, TokenTrouble
from agentic.stores.aws import layout
from agentic.stores.aws.shared_home import LATELY, AwsHome
from agentic.stores.aws.store import AwsStore
from agentic.stores.factory import open_shared_home
from agentic.stores.home_folder import MOST_BYTES
from agentic.stores.shared_files import NotShared, changed
from bot.config.home import ACCOUNTS, MCP_TOKENS, SHARED
from bot.equipment.equipment import Equipment, RulePlace, RuleRefused
from bot.equipment.skill_folder import read_skill
from bot.equipment.skill_store import FILE, HOME, SkillStore
from bot.workspace.linked_accounts import LinkedAccount, LinkedAccounts
from deploy.aws_local.resources import client
from tests.aws.wire_faults import Fault, WireFaults
from tests.stores import fresh_store

NOW = datetime(2026, 11, 26, tzinfo=UTC)
ROLE = "---\nname: {name}\ndescription: for a test\n---\n{text}\n"
RULE = "---\nname: {name}\n{more}---\n{name}, always.\n"


@dataclass(frozen=True, slots=True)
class Machine:
    """A home, and what keeps it in step."""

    home: Path
    store: AwsStore
    shared: AwsHome

    @property
    def files(self) -> dict[str, bytes]:
        """What is shared of it, as it stands on its disk."""
        every = (path for part in SHARED for path in (self.home / part, *(self.home / part).rglob("*")))
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in every
            if path.is_file() and path.suffix != ".lock"
        }

    def put(self, path: str, content: str | bytes, *, runs: bool = False) -> None:
        """Write a file by hand."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        file.chmod(0o755 if runs else 0o644)


@asynccontextmanager
async def machine(place: AwsPlace, home: Path, patience: float = 15.0) -> AsyncGenerator[Machine]:
    """A machine that has looked once."""
    home.mkdir(exist_ok=True)
    store = AwsStore.open(place, patience=patience)
    try:
        shared = open_shared_home(store, home, SHARED)
        assert isinstance(shared, AwsHome)
        await shared.fresh()
        yield Machine(home, store, shared)
        await shared.close()
    finally:
        await store.close()


async def test_what_one_machine_changes_the_others_have(
    aws_place: AwsPlace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = {
        "roles/mine.md": ROLE.format(name="mine", text="x"), "mcp.json": "{}", "accounts/7@github.com.json": "{}",
        "skills/large/data.bin": random.Random(1).randbytes(150_000), "skills/large/.hidden": b"\xff\x00",
    }  # fmt: skip
    own = tmp_path / "one"
    for path, content in before.items():
        Machine.put(Machine(own, None, None), path, content)  # type: ignore[arg-type]
    Machine.put(Machine(tmp_path / "two", None, None), "roles/mine.md", "another")  # type: ignore[arg-type]
    Machine.put(Machine(tmp_path / "two", None, None), "watchers/eye.md", "only here")  # type: ignore[arg-type]
    (own / "roles" / ".mine.md.0123456789ab").write_text("not whole")
    (own / "roles" / "led.md").symlink_to(own / "mcp.json")
    async with machine(aws_place, own) as one:
        assert "roles/led.md is not shared with other machines: it is a link" in caplog.text
        async with machine(aws_place, tmp_path / "two") as two, machine(aws_place, tmp_path / "three") as three:
            # an empty bucket takes over what a home has; later the shared one counts, and what only a home has is added
            assert "roles/mine.md was changed here and on another machine" in caplog.text
            await one.shared.fresh()
            (own / "roles" / "led.md").unlink()
            assert one.files.keys() - {"roles/.mine.md.0123456789ab"} == {*before, "watchers/eye.md"}
            assert two.files == three.files == {p: c for p, c in one.files.items() if not p.endswith("ab")}
            assert two.files["roles/mine.md"].decode() == before["roles/mine.md"]
            assert (three.home / "mcp.json").stat().st_mode & 0o777 == 0o600

            # approving is there at once, with what may be executed; and by hand too, also what is deleted
            one.put("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: d\n---\nbody")
            one.put("skills/tidy/run.sh", "#!/bin/sh", runs=True)
            store, skill = SkillStore(own), read_skill(own / "skills" / "tidy")
            await changed(one.shared, FILE, lambda: store.approve(HOME, skill, NOW))
            (two.home / "watchers" / "eye.md").unlink()
            await two.shared.fresh()
            await three.shared.fresh()
            [there] = [each for each in SkillStore(three.home).found_in_home() if each.name == "tidy"]
            assert there.state == "approved"
            assert not (three.home / "watchers").exists()

            # a command that looks at less of a home takes nothing of the rest for deleted
            less = open_shared_home(one.store, own, ("roles",))
            assert less is not None
            one.put("roles/mine.md", ROLE.format(name="mine", text="by hand"))
            await less.fresh()
            await one.shared.fresh()
            await two.shared.fresh()
            assert "by hand" in two.files["roles/mine.md"].decode(), "it goes on from what was known of this home"
            assert f"{ACCOUNTS}/7@github.com.json" in two.files

            # what was taken away while a machine was away is gone there too, however much was changed since
            await LinkedAccounts(two.home / ACCOUNTS, two.shared).erase("7")
            for number in range(LATELY + 2):
                two.put(f"rules/1/r{number}.md", str(number))
            await two.shared.fresh()
            # (and what was changed here meanwhile, and there was not, counts for all)
            one.put("mcp.json", '{"mcpServers": {}}')
            (own / "roles" / "mine.md").unlink()
            await one.shared.fresh()
            await two.shared.fresh()
            assert (two.files["mcp.json"], "roles/mine.md" in two.files) == (b'{"mcpServers": {}}', False)
            assert one.files.keys() - {"roles/.mine.md.0123456789ab"} == two.files.keys()
            assert not [path for path in one.files if path.startswith(ACCOUNTS)]

            # a folder that is a link takes nothing away, and nothing is written through it
            await three.shared.fresh()
            checkout, linked = tmp_path / "checkout", three.home / "rules" / "1"
            checkout.mkdir()
            (checkout / "r0.md").write_text("in git")
            shutil.rmtree(linked)
            linked.symlink_to(checkout)
            one.put("rules/1/r1.md", "changed")
            for each in (one, three, one):
                await each.shared.fresh()
            assert "rules/1 is not shared with other machines: it is a link" in caplog.text
            assert {path.name: path.read_text() for path in checkout.iterdir()} == {"r0.md": "in git"}
            linked.unlink()
            await three.shared.fresh()
            await one.shared.fresh()
            assert three.files["rules/1/r1.md"] == b"changed"
            assert three.files == {path: c for path, c in one.files.items() if not path.endswith("ab")}

            # large files lie in the bucket, one object each
            s3 = client("s3", aws_place.endpoint)
            two.put("skills/large/data.bin", random.Random(2).randbytes(150_000))
            await two.shared.fresh()
            await one.shared.fresh()
            assert one.files["skills/large/data.bin"] == two.files["skills/large/data.bin"]
            for _ in range(2):
                assert s3.list_objects_v2(Bucket=aws_place.bucket, Prefix="home/")["KeyCount"] == 1
                two.put("skills/large/too.bin", bytes(MOST_BYTES + 1))
                await two.shared.fresh()
            assert "skills/large/too.bin is not shared with other machines: it is larger than 5 MB" in caplog.text
            (two.home / "skills/large/too.bin").unlink()
            lost = {"Bucket": aws_place.bucket}
            lost["Key"] = s3.list_objects_v2(**lost, Prefix="home/")["Contents"][0]["Key"]
            body = s3.get_object(**lost)["Body"].read()
            s3.delete_object(**lost)
            async with machine(aws_place, tmp_path / "four") as four:  # one that is lost costs no other
                assert "data.bin cannot be brought to this home" in caplog.text
                assert two.files.keys() - four.files.keys() == {"skills/large/data.bin"}
                s3.put_object(**lost, Body=body)
                await four.shared.fresh()
                assert four.files == two.files, "it is brought once it is there again"
    assert open_shared_home(fresh_store(), own, SHARED) is None


async def test_machines_that_change_the_same_at_once_lose_nothing_also_where_the_wire_fails(
    aws_place: AwsPlace, tmp_path: Path
) -> None:
    async with (
        WireFaults(aws_place.endpoint) as wire,
        machine(replace(aws_place, endpoint=wire.address), tmp_path / "one") as one,
        machine(replace(aws_place, endpoint=wire.address), tmp_path / "two") as two,
    ):
        for each in (one, two):
            name = each.home.name
            each.put(f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: d\n---\nbody")
        wire.break_next("dynamodb.TransactWriteItems", "lost", "conflict", None, "half")

        async def approve(each: Machine) -> None:
            skill = read_skill(each.home / "skills" / each.home.name)
            await changed(each.shared, FILE, lambda: SkillStore(each.home).approve(HOME, skill, NOW))

        await asyncio.gather(approve(one), approve(two))
        for each in (one, two):
            await each.shared.fresh()
            assert [found.state for found in SkillStore(each.home).found_in_home()] == ["approved"] * 2

        # a rule that another machine's rule contradicts by now is refused
        place, gate = RulePlace(guild="1"), RULE.format(name="gate", more="")
        here, there = Equipment(one.home, one.shared), Equipment(two.home, two.shared)
        await here.put_rule(place, "guild", gate)
        await there.put_rule(place, "guild", RULE.format(name="other", more="overrides: [gate]\n"))
        with pytest.raises(RuleRefused, match="overrides gate"):
            await here.remove_rule(place, "guild", "gate")

        # two processes of one home, which change it in turn
        async with machine(replace(aws_place, endpoint=wire.address), one.home) as beside:
            roles = [ROLE.format(name=f"r{number}", text="x") for number in range(6)]
            equipped = (Equipment(one.home, one.shared), Equipment(beside.home, beside.shared), there)
            await asyncio.gather(*(equipped[n % 3].put_role("1", role) for n, role in enumerate(roles)))
        for each in (one, two):
            await each.shared.fresh()
        assert one.files == two.files
        assert {f"roles/1/r{number}.md" for number in range(6)} <= one.files.keys()
        seen = wire.seen.total()
        await one.shared.fresh()
        assert wire.seen.total() == seen + 1, "a look at nothing new is one request"


async def test_without_aws_a_home_goes_on_and_a_change_is_refused_until_it_is_back(
    aws_place: AwsPlace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    away = replace(aws_place, endpoint="http://127.0.0.1:9")
    async with WireFaults(aws_place.endpoint) as wire, machine(aws_place, tmp_path / "two") as two:
        async with machine(replace(aws_place, endpoint=wire.address), tmp_path / "one", 0.0) as one:
            equipment = Equipment(one.home, one.shared)
            await equipment.put_role("1", ROLE.format(name="mine", text="first"))
            for broken in (("dynamodb.GetItem", "throttled"), ("dynamodb.TransactWriteItems", "denied")):
                wire.break_next(*broken)  # type: ignore[arg-type]
                with pytest.raises(NotShared, match=r"nothing was changed; try again in a minute \(") as refused:
                    await equipment.put_role("1", ROLE.format(name="mine", text="second"))
                assert "Errno" not in str(refused.value)
                assert "first" in one.files["roles/1/mine.md"].decode()
            wire.break_next("dynamodb.TransactWriteItems", "denied")
            with pytest.raises(NotShared):
                await equipment.remove_role("1", "mine")
            assert "first" in one.files["roles/1/mine.md"].decode()
            # an answer that was lost is no refusal: what stands is looked at, and where that cannot be, it is not guessed
            wire.break_next("dynamodb.TransactWriteItems", "lost", "lost")
            await equipment.put_role("1", ROLE.format(name="mine", text="first of all"))
            wire.break_next("dynamodb.GetItem", None, "throttled")
            with pytest.raises(NotShared, match="it is not known whether it was changed"):
                await equipment.put_role("1", ROLE.format(name="mine", text="first, perhaps"))
            await one.shared.fresh()
            assert "first, perhaps" in one.files["roles/1/mine.md"].decode(), "it was"
            [state] = one.home.glob("shared-*.json")
            aside = state.rename(one.home / "aside")
            state.mkdir()
            with pytest.raises(NotShared, match="the files of this machine cannot be compared"):
                await equipment.put_role("1", ROLE.format(name="mine", text="third"))
            state.rmdir()
            aside.rename(state)
            wire.break_next("dynamodb.GetItem", "throttled", "throttled")
            await one.shared.fresh()
            await one.shared.fresh()
            assert caplog.text.count("are used as they are") == 1
            await one.shared.fresh()
            assert "in step with those on AWS again" in caplog.text
            await two.shared.fresh()
            assert two.files == one.files
            # a table that was put back to an earlier moment counts as it is; one that is new takes over what a home has
            earlier = _shared_in(aws_place)
            await changed(two.shared, "rules", lambda: two.put("rules/late.md", "x"))
            await one.shared.fresh()
            assert "rules/late.md" in one.files
            for put_back, left in ((earlier, {"roles/1/mine.md"}), ([], {"roles/1/mine.md"})):
                _put_back(aws_place, put_back)
                await one.shared.fresh()
                assert one.files.keys() == left
            assert len(_shared_in(aws_place)) == len(earlier)
        two.put("roles/mine.md", "x")
        async with machine(away, two.home, 0.0):
            assert two.files["roles/mine.md"] == b"x", "what is there is used"
            assert "check that http://127.0.0.1:9 runs" in caplog.text


async def test_a_sign_in_is_renewed_once_on_all_machines_and_not_handed_on_before_it_is_shared(
    aws_place: AwsPlace, tmp_path: Path
) -> None:
    async with (
        WireFaults(aws_place.endpoint) as wire,
        machine(replace(aws_place, endpoint=wire.address), tmp_path / "one", 0.5) as one,
        machine(aws_place, tmp_path / "two") as two,
    ):
        spent = list[str]()

        async def renewed(each: Machine) -> str:
            kept = KeptTokens(each.home / MCP_TOKENS, each.shared)
            async with kept.alone("s", ""):
                grant = kept.of("s", "")
                assert grant is not None
                token = grant.access_token.get_secret_value()
                if token == "old":
                    spent.append(grant.refresh_token.get_secret_value())
                    await asyncio.to_thread(kept.keep, _grant("new", "second"), "")
                    return "new"
                return token

        first = KeptTokens(one.home / MCP_TOKENS, one.shared)
        async with first.alone("s", ""):
            first.keep(_grant("old", "once"), "")
        assert await asyncio.gather(renewed(one), renewed(two)) == ["new", "new"]
        assert spent == ["once"]

        account = LinkedAccount(host="github.com", login="anna", token=SecretStr("very secret"))
        await LinkedAccounts(one.home / ACCOUNTS, one.shared).keep("7", account)
        await two.shared.fresh()
        assert LinkedAccounts(two.home / ACCOUNTS).of("7", "github.com") == account
        stored = client("dynamodb", aws_place.endpoint).scan(TableName=aws_place.table)["Items"]
        assert "very secret" not in json.dumps(stored, default=str), "nor does the console show it"

        async with first.alone("s", ""):
            first.keep(_grant("newer", "third"), "")
            wire.break_next("dynamodb.GetItem", *_often("broken"))
        assert await two.store.holder(f"home: sign-in {_name(one)}"), "nobody else begins with what was spent"
        wire._next.clear()  # pyright: ignore[reportPrivateUsage]
        await one.shared.fresh()
        assert not await two.store.holder(f"home: sign-in {_name(one)}")
        await two.shared.fresh()
        grant = KeptTokens(two.home / MCP_TOKENS).of("s", "")
        assert grant is not None
        assert grant.refresh_token.get_secret_value() == "third"
        wire.break_next("dynamodb.UpdateItem", "denied", "denied")
        with pytest.raises(TokenTrouble, match="shared by all machines, and now cannot be"):
            await renewed(one)


def _shared_in(place: AwsPlace) -> list[dict[str, Any]]:
    answer = client("dynamodb", place.endpoint).query(
        TableName=place.table, KeyConditionExpression="pk = :home",
        ExpressionAttributeValues={":home": {"S": layout.HOME}},
    )  # fmt: skip
    return answer["Items"]


def _put_back(place: AwsPlace, items: list[dict[str, Any]]) -> None:
    table = client("dynamodb", place.endpoint)
    for item in _shared_in(place):
        table.delete_item(TableName=place.table, Key={name: item[name] for name in ("pk", "sk")})
    for item in items:
        table.put_item(TableName=place.table, Item=item)


def _often(fault: Fault) -> list[Fault]:
    return [fault] * 400


def _name(one: Machine) -> str:
    [file] = (one.home / MCP_TOKENS).glob("*.json")
    return file.stem


def _grant(access: str, refresh: str) -> Grant:
    return Grant(
        server="s", resource="s", issuer="i", token_endpoint="https://i/t", client_id="c", access_token=SecretStr(access),
        refresh_token=SecretStr(refresh),
    )  # fmt: skip
