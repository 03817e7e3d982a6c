"""What asks the models is broken, or has no network, when it is loaded; and a provider that refuses the content."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from agentic.models.router import ModelRouter
from agentic.models.scripted.replies import Reply
from agentic.ports.errors import ModelLibraryBroken
from agentic.ports.runtime import Message, Prompt
from tests.faults.test_loop_faults import FINISH, route, run

__all__ = ["route"]
FILTER = "The response was filtered due to the prompt triggering content management policy."
SECONDS = 90.0
OFFLINE = """
import socket

class Alone(socket.socket):
    def connect(self, address):
        raise OSError(101, "Network is unreachable")
    def connect_ex(self, address):
        return 101

socket.socket = Alone
socket.getaddrinfo = lambda *_, **__: (_ for _ in ()).throw(socket.gaierror(-3, "Temporary failure in name resolution"))
"""
ASK = """
import asyncio
from agentic.models.router import ModelRouter
from agentic.ports.runtime import Message, Prompt
from agentic.ports.errors import ModelUnavailable

async def main():
    router = ModelRouter({"OPENAI_API_KEY": "k"})
    await router.warm_up(["openai/gpt-4o"])
    try:
        await router.answer("openai/gpt-4o", Prompt("", (), (Message("user", "go"),)), max_tokens=10, timeout=20)
    except ModelUnavailable:
        print("unavailable")
    await router.close()

asyncio.run(main())
"""


MODELS = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-4o", "litellm": "gemini/gemini-2.5-flash"}
"""Each asked through the library of this name."""


def broken(folder: Path, *libraries: str) -> Path:
    """A folder that holds half an installation of libraries, to be found before the real ones."""
    for library in libraries:
        package = folder / library
        package.mkdir()
        (package / "__init__.py").write_text("raise RuntimeError('half an installation')\n")
    return folder


async def ran(*command: str, **environment: str) -> tuple[int, str]:
    """A process with this environment beside the usual one: its exit code, and all it said."""
    own = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_BASE_URL"))}
    process = await asyncio.create_subprocess_exec(
        *command, env={**own, **environment}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    async with asyncio.timeout(SECONDS):
        said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


def configured(folder: Path, *libraries: str) -> dict[str, str]:
    """A bot whose models are asked through these libraries, from its second tier upwards."""
    models = [MODELS[library] for library in libraries]
    return {
        **{f"THREADWRIGHT_TIER_{tier}": model for tier, model in enumerate(models, 2)},
        "THREADWRIGHT_PRICES": ",".join(f"{model}=1/2" for model in models),
        "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k",
        "THREADWRIGHT_HOME": str(folder / "home"), "PYTHONPATH": str(folder),
    }  # fmt: skip


async def test_f61_libraries_that_cannot_be_loaded_are_said_by_the_doctor(tmp_path: Path) -> None:
    environment = configured(broken(tmp_path, *MODELS), *MODELS)
    status, said = await ran(sys.executable, "-m", "bot.cli.main", "doctor", "--json", **environment)
    rows = [each for each in json.loads(said)["components"] if each["adapter"] == "library"]
    assert (status, [row["state"] for row in rows]) == (1, ["missing"] * 3)
    for library, row in zip(sorted(MODELS), rows, strict=True):
        assert f"The library {library} cannot be loaded (ImportError: RuntimeError: half an installation)" in row["why"]
        assert "make setup" in row["todo"]


async def test_f61_the_start_says_so_in_its_table(tmp_path: Path) -> None:
    environment = configured(broken(tmp_path, "litellm"), "litellm")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.cli.main", "run", env={**os.environ, **environment}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    said = ""
    try:
        async with asyncio.timeout(SECONDS):
            while "`make setup`" not in " ".join(said.split()):
                line = await process.stdout.readline()
                assert line, said
                said += line.decode()
    finally:
        process.terminate()
        await process.communicate()
    assert "The library litellm cannot be loaded" in " ".join(said.split())


async def test_f61_a_library_that_broke_is_an_error_of_its_own_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Within the process: the first load fails, after it was mended the next one works."""
    for name in [name for name in sys.modules if name == "anthropic" or name.startswith("anthropic.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "agentic.models.anthropic.client", raising=False)
    monkeypatch.syspath_prepend(str(broken(tmp_path, "anthropic")))
    router = ModelRouter({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    asked = Prompt("", (), (Message("user", "go"),))
    with pytest.raises(ModelLibraryBroken, match="half an installation"):
        await router.answer("anthropic/claude-sonnet-4-5", asked, max_tokens=10, timeout=20)
    await router.close()
    for name in [name for name in sys.modules if name == "anthropic" or name.startswith("anthropic.")]:
        del sys.modules[name]  # the broken one, which later tests would meet


async def test_f61_without_a_network_the_library_is_loaded_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(OFFLINE)
    status, said = await ran(sys.executable, "-c", ASK, PYTHONPATH=str(tmp_path))
    assert status == 0, said
    assert said.split() == ["unavailable"]


async def test_f51_a_refusal_without_words_ends_visibly(route: str) -> None:
    ended = await run([Reply(stop="filtered"), FINISH], route)
    assert ended.reason == "failed"
    assert ended.execution.finished is not None
    assert "content rules" in ended.execution.finished.answer
    assert len(ended.endpoint.requests) == 1


async def test_f51_a_content_filter_ends_visibly_and_asks_nobody_else(route: str) -> None:
    ended = await run([Reply.error(400, FILTER, code="content_filter"), FINISH], route)
    assert ended.reason == "failed"
    assert ended.execution.finished is not None
    assert "Put the task in other words" in ended.execution.finished.answer
    assert len(ended.endpoint.requests) == 1
