"""Where an extra is not installed, everything that needs it says so, with the one command that adds it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentic import extras
from agentic.code_index.code_search import CodeSearch
from agentic.core.events.execution_events import Envelope
from agentic.extras import PACKAGES, Extra, missing
from agentic.models.router import ModelRouter
from agentic.models.tier_config import tiers_from
from agentic.ports.errors import ModelLibraryBroken
from agentic.ports.runtime import Prompt
from agentic.web.page_reader import PageReader
from agentic.web.search_engines import PublicEngines, SearchFailed
from agentic.web.web_client import WebAnswer, WebUnanswered
from bot.cli import doctor
from bot.cli.main import perform
from bot.config.settings import Settings
from bot.telemetry.reporting import Reporting
from bot.telemetry.trace_sink import TraceSink

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lacks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Extra:
    """An extra whose last package cannot be found, in a package that was installed without a clone."""
    name: Extra = getattr(request, "param", "web")
    monkeypatch.setitem(sys.modules, PACKAGES[name][-1], None)
    monkeypatch.setattr(extras, "ROOT", ROOT / "agentic")
    return name


def only(name: Extra) -> pytest.MarkDecorator:
    """For a test about one extra."""
    return pytest.mark.parametrize("lacks", [name], indirect=True)


@pytest.mark.parametrize("lacks", sorted(PACKAGES), indirect=True)
def test_what_is_missing_is_named_with_one_command(lacks: Extra, monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"threadwright[{lacks}] is not installed. Add it: `pip install 'threadwright[{lacks}]'`"
    assert str(missing(lacks)) == said
    monkeypatch.setattr(extras, "ROOT", ROOT)
    command = {"aws": "make aws-store", "embeddings": "make embeddings"}.get(lacks, "make setup")
    assert f"`{command}`" in str(missing(lacks))


def test_each_extra_of_the_package_is_known_and_all_holds_every_one() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert declared.keys() == {*PACKAGES, "all"}
    (everything, *_) = declared["all"]
    assert everything == f"threadwright[{','.join(sorted(PACKAGES))}]"
    for name, modules in PACKAGES.items():
        first = {line.partition("==")[0].partition(">")[0].replace("-", "_") for line in declared[name]}
        if name in ("code", "providers", "web"):
            assert first == set(modules)


def _answer(media: str, body: bytes) -> WebAnswer:
    return WebAnswer("https://example.org/", 200, (), media, "utf-8", body)


async def _nothing(_: str) -> AsyncIterator[Envelope]:
    for none in ():
        yield none


@only("web")
async def test_a_page_and_a_search_say_what_is_missing(lacks: Extra) -> None:
    with pytest.raises(WebUnanswered, match=r"pip install 'threadwright\[web\]'"):
        await PageReader().read(_answer("text/html", b"<p>Words.</p>"))
    plain = await PageReader().read(_answer("text/plain", b"Words."))
    assert plain.text == "Words.", "what is no HTML needs nothing"
    engine = PublicEngines()
    try:
        with pytest.raises(SearchFailed, match=r"pip install 'threadwright\[web\]'"):
            await engine.search("python", 5)
    finally:
        engine.close()


@only("code")
async def test_code_whose_grammar_is_missing_is_cut_by_lines_until_it_is_there(
    lacks: Extra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, root = tmp_path / "workspace", tmp_path / "index"
    workspace.mkdir()
    (workspace / "cart.ts").write_text("function rounded(price: number) {\n  return price;\n}\n")
    (workspace / "cart.py").write_text("def rounded(price):\n    return price\n")

    async def names() -> dict[str, str]:
        search = CodeSearch(root)
        try:
            found = await search.search("1", workspace, (), "rounded price", most=5)
        finally:
            await search.close()
        return {place.path: place.names for place in found.places}

    assert await names() == {"cart.ts": "", "cart.py": "rounded"}
    monkeypatch.delitem(sys.modules, PACKAGES["code"][-1])
    assert await names() == {"cart.ts": "rounded", "cart.py": "rounded"}


@only("providers")
async def test_a_model_of_another_protocol_says_what_is_missing_and_is_no_default(lacks: Extra) -> None:
    with pytest.raises(ModelLibraryBroken, match=r"pip install 'threadwright\[providers\]'"):
        await ModelRouter({"GEMINI_API_KEY": "k"}).answer(
            "gemini/gemini-2.5-flash", Prompt(system="", messages=(), tools=(), tail=""), max_tokens=10, timeout=5
        )
    (alone,) = tiers_from((), {"GEMINI_API_KEY": "k"}).problems
    assert (alone.setting, alone.fatal) == ("GEMINI_API_KEY", True)
    assert "threadwright[providers]" in str(alone)
    beside = tiers_from((), {"GEMINI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert all(model.startswith("anthropic/") for model in beside.models)
    assert [problem.fatal for problem in beside.problems] == [False]
    (named,) = tiers_from((None, "gemini/gemini-2.5-flash"), {"GEMINI_API_KEY": "k"}).problems
    assert named.fatal
    assert "pip install 'threadwright[providers]'" in named.instead


@only("aws")
@pytest.mark.parametrize("setting", ["THREADWRIGHT_STORE", "AGENTIC_EVENTS_QUEUE_URL"])
def test_aws_is_refused_before_anything_runs(
    lacks: Extra, setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = "https://sqs.eu-central-1.amazonaws.com/1/events"
    monkeypatch.setenv("THREADWRIGHT_HOME", str(tmp_path))
    monkeypatch.setenv(setting, queue if setting.endswith("URL") else "aws")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("DYNAMODB_EXECUTIONS_TABLE", "threads")
    monkeypatch.setenv("S3_ARTIFACT_BUCKET", "artifacts")
    assert perform(["search", "words"]) == 64
    said = capsys.readouterr().err
    assert setting in said
    assert "pip install 'threadwright[aws]'" in said


@only("aws")
async def test_the_doctor_says_it_of_aws(lacks: Extra, tmp_path: Path) -> None:
    names = {"DYNAMODB_EXECUTIONS_TABLE": "threads", "S3_ARTIFACT_BUCKET": "artifacts", "AWS_REGION": "eu-central-1"}
    settings = Settings.model_validate({"home": tmp_path, "store": "aws", **names})
    (row,) = await doctor.stores(settings)
    assert (row.state, row.why) == ("missing", "threadwright[aws] is not installed")
    assert "pip install 'threadwright[aws]'" in row.todo


@only("otel")
async def test_traces_that_nothing_sends_are_told_in_the_log_and_by_the_doctor(
    lacks: Extra, caplog: pytest.LogCaptureFixture
) -> None:
    sink = TraceSink(_nothing)
    reporting = Reporting(sink, frozenset({"traces"}), "0.1.0", {})
    reporting.begin()
    await reporting.close()
    assert "no traces and metrics are sent: threadwright[otel] is not installed" in caplog.text
    rows = [*doctor.extras({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})]
    assert [(row.name, row.state) for row in rows] == [("extras", "ok"), ("traces", "limited")]
    assert "otel" in rows[0].why
    assert [row.name for row in doctor.extras({})] == ["extras"], "who sends none needs none"


@only("code")
def test_the_doctor_says_it_of_code_search(lacks: Extra, tmp_path: Path) -> None:
    row = doctor.code_search(Settings(_env_file=None, home=tmp_path), "found by words")  # type: ignore[call-arg]
    assert "of other languages by lines: threadwright[code] is not installed" in row.why
    assert row.todo == "for the other languages: `pip install 'threadwright[code]'`"


@only("web")
async def test_the_doctor_says_it_of_the_web(lacks: Extra, tmp_path: Path) -> None:
    row = await doctor.web_search(Settings(_env_file=None, home=tmp_path), asks=False)  # type: ignore[call-arg]
    assert (row.state, row.todo) == ("limited", "for the web: `pip install 'threadwright[web]'`")


def test_nothing_is_imported_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("trafilatura", "ddgs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert missing("web") is None
    assert not {"trafilatura", "ddgs"} & sys.modules.keys()
