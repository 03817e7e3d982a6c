"""A task as a file: everything is in it, and nothing that somebody wrote in the task becomes markup."""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import markdown_it
import pytest
from markupsafe import escape

from agentic.core.events.execution_events import (
    Asked,
    CallBlock,
    Envelope,
    Event,
    FileRef,
    InputReceived,
    Intervened,
    ModelAnswered,
    ModelRequested,
    Option,
    Person,
    ReasoningBlock,
    SubagentFinished,
    TextBlock,
    ToolFinished,
    ToolStarted,
    Usage,
)
from agentic.core.events.ids import call_id, child_id
from agentic.ports.runtime import ExecutionRow
from bot.console.exports.atif_export import Trajectory, atif
from bot.console.exports.export_source import TEXT, ExportSource, source_of
from bot.console.exports.html_export import html_file
from bot.console.exports.markdown_export import call_text, code, fence, whole_task
from bot.console.exports.page_markdown import page_markdown
from bot.console.exports.transcript import TranscriptTurn, shown_of, transcript
from bot.console.logs.task_log import TaskLog
from bot.console.page_templates import Pages
from bot.rendering.secrets import Discretion
from tests.integration.console.logs import end, enveloped, events, guidance, started, triaged, turn

HARBOR = Path(__file__).parents[3] / "build" / "harbor"
PAGES = Pages()
PAYLOADS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</pre></details><h1>mine</h1>",
    "</style><style>*{display:none}</style>",
    "[click](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "<javascript:alert(1)>",
    "```\n# A heading\n[link](javascript:alert(1))\n```",
    "`````\n<script>alert(2)</script>\n`````",
    "~~~\n# tilde",
    "a ` b `` c ``` d",
    "`",
    "` [x](javascript:alert(1)) <b>y</b> `",
    "line\r# carriage\r\n## both\u2028### separator\n\n- list",
    "{{ 7*7 }}{% raw %}",
    "| a | b |\n|---|---|",
    "&lt;script&gt; &amp; \x00 \x1b[31m",
    "http://evil.example/auto",
    "***bold*** ~~gone~~ <!-- hidden",
)


def task_of(log: Sequence[Event], outputs: Mapping[str, str] | None = None) -> ExportSource:
    task = TaskLog(ExecutionRow("x1", "77", "Fix", len(log)), None)
    task.take(enveloped("x1", log), Discretion())
    return source_of(task, "Fix the failing test", outputs or {})


def hostile(payload: str) -> list[Event]:
    """A task in which everything that somebody else writes is this text."""
    person = Person(id="1", name=payload, level="executor")
    call = CallBlock(provider_id="p", tool="shell", arguments={"command": payload, payload: payload, "deep": [payload]})
    broken = CallBlock(provider_id="q", tool="shell", problem="malformed", raw=payload)
    return [
        started(payload, requester=person, files=(FileRef(name=payload, size=3),)),
        InputReceived(inbox="m", sort="guidance", author=person, text=payload),
        ModelRequested(request="r1", turn=1, tier=2, model=payload),
        ModelAnswered(
            request="r1", blocks=(ReasoningBlock(text=payload), TextBlock(text=payload), call, broken), usage=Usage(input=1)
        ),
        ToolStarted(call="r1.0", provider_id="p", tool="shell", effect="unkeyed", arguments={}, args_sha="0"),
        ToolFinished.model_validate(
            {
                "call": "r1.0", "outcome": "failed", "preview": payload, "exit_code": 1,
                "changes": ({"kind": "added", "path": payload, "sha_after": "b" * 64},),
                "output": {"sha": "o", "size": 9},
            }
        ),
        Intervened(rule=payload, text=payload),
        Asked(question="q", text=payload, options=(Option(id="a", label=payload),)),
        *end(answer=payload),
    ]  # fmt: skip


class Elements(HTMLParser):
    """What a browser would make of a file."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> Elements:
    elements = Elements()
    elements.feed(html)
    return elements


@pytest.mark.parametrize("payload", PAYLOADS)
def test_foreign_text_stays_text_in_the_html_file(payload: str) -> None:
    plain = read("".join(html_file(task_of(hostile("word"), {"o": "word"}), PAGES)))
    shown = read("".join(html_file(task_of(hostile(payload), {"o": payload}), PAGES)))
    assert shown.tags == plain.tags
    names = {"href", "src", "action", "style"}
    links = [(name, value) for name, value in shown.attributes if name in names or name.startswith("on")]
    assert links == [("href", "#turn-0"), ("href", "#turn-1")]
    kept = payload.replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(shown.text).replace("\r\n", "\n").replace("\r", "\n").count(kept) >= 8


@pytest.mark.parametrize("payload", PAYLOADS)
def test_foreign_text_stays_text_in_markdown(payload: str) -> None:
    """By a parser of CommonMark: the same headings and no link, image, table or HTML, whatever the text is."""
    parser = markdown_it.MarkdownIt("commonmark", {"linkify": False}).enable("table")

    def shapes(word: str) -> list[str]:
        tokens = parser.parse("".join(whole_task(task_of(hostile(word), {"o": word}))))
        assert not {token.type for each in tokens for token in (each, *(each.children or ()))} & {
            "html_block", "html_inline", "link_open", "image", "table_open", "em_open",
        }  # fmt: skip
        return [token.type for token in tokens if token.type != "fence"]

    assert [each for each in shapes(payload) if each == "heading_open"] == ["heading_open"] * 3
    texts = [
        token.content
        for token in parser.parse("".join(whole_task(task_of(hostile(payload), {"o": payload}))))
        if token.type == "fence"
    ]
    kept = payload.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    assert texts.count(kept + "\n") >= 6


def test_code_is_closed_by_nothing_that_it_holds() -> None:
    assert fence("a ```` b").startswith("`````\n")
    assert code("a `` b\nc") == "``` a `` b c ```"
    assert code("") == "` `"


def test_the_html_file_has_the_turns_the_results_and_nothing_from_elsewhere() -> None:
    html = "".join(html_file(task_of([*events(3, ended=False), guidance("Look at part 2"), *end()]), PAGES))
    elements = read(html)
    assert [value for name, value in elements.attributes if name == "id" and value.startswith("turn-")][::2] == [
        "turn-0", "turn-1", "turn-2", "turn-3",
    ]  # fmt: skip
    assert {"script", "link", "img", "iframe", "form"} & set(elements.tags) == set()
    policy = next(value for _, value in elements.attributes if value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy
    text = "".join(elements.text)
    for said in (
        "I think about step 2.",
        "1 failed",
        "Look at part 2",
        "The test passes now.",
        "to see whether it passes",
    ):
        assert said in text
    assert html.count("<details") == 3 + 3 + 1


def test_a_long_task_leaves_out_its_middle_and_says_so() -> None:
    long = [event for number in range(1, 41) for event in turn(number, result="r" * 30_000)]
    source = task_of([started(), triaged(), *long, *end()])
    turns = list(source.turns(most=200_000))
    kept = [each.number for each in turns if isinstance(each, TranscriptTurn)]
    assert kept[0] == 0
    assert kept[-1] == 40
    assert 2 < len(kept) < 12
    assert [each for each in turns if isinstance(each, str)] == [
        f"{41 - len(kept)} turns are left out here, to keep this file small. The task's JSON lines have all of them."
    ]
    whole = "".join(whole_task(source))
    assert "Cut after 20,000 characters" in whole
    assert "r" * (TEXT + 1) not in whole


def test_the_end_is_kept_however_large_it_is() -> None:
    assert shown_of([10, 10, 10], 30) == (3, 3)
    assert shown_of([10, 10, 10, 500], 100) == (2, 3)
    assert shown_of([500], 100) == (0, 0)
    assert shown_of([10, 200, 10, 10], 100) == (1, 2)


def test_a_call_says_what_was_asked_and_what_came_of_it() -> None:
    [call] = next(each for each in transcript(enveloped("x1", events(1))) if each.number == 1).calls
    text = call_text(call, {})
    assert "**Call** `shell`: ok" in text
    assert "`command`: `python -m pytest -q`" in text
    assert "Result · exit 1 · 1.5 s:\n\n```\n1 failed\n```" in text


def trajectory(log: Sequence[Event], **more: Any) -> dict[str, Any]:
    task = Trajectory("x1", "77", enveloped("x1", log), "0.1.0", **more)
    return json.loads("".join(atif(task)))


@pytest.fixture(scope="module")
def accepts() -> Any:
    """Harbor's own validator; its errors, none where it accepts."""
    if not list(HARBOR.glob(".installed-*")):
        pytest.skip("`make harbor` installs the validator")
    sys.path.append(str(HARBOR))
    try:
        validator = importlib.import_module("harbor.utils.trajectory_validator").TrajectoryValidator()
    finally:
        sys.path.remove(str(HARBOR))

    def errors(trajectory: dict[str, Any], file: Path) -> list[str]:
        file.write_text(json.dumps(trajectory))
        validator.validate(file)
        return list(validator.errors)

    return errors


def test_harbors_validator_accepts_a_task(accepts: Any, tmp_path: Path) -> None:
    made = FileRef(name="plot.png", path="plot.png", size=900, media="image/png", sha="c" * 64, width=4, height=3)
    child, call = child_id(call_id("r2", 0), 0), call_id("r2", 0)
    log: list[Event] = [
        *events(2, ended=False),
        ToolFinished(call=call, outcome="ok", preview="a helper looked", seconds=2.0, files=(made,)),
        SubagentFinished(child=child, result="done", turns=1, spent_usd=0.01),
        guidance("Look at part 2"),
        *turn(3),
        *end(),
    ]
    helper: Sequence[Envelope] = enveloped(child, events(1))
    whole = trajectory(
        log, usd=0.02, system="You are an agent.", tools=({"type": "function", "function": {"name": "shell"}},),
        copied_through=4, children={child: helper},
    )  # fmt: skip
    assert accepts(whole, tmp_path / "trajectory.json") == []
    assert accepts({**whole, "steps": whole["steps"][1:]}, tmp_path / "broken.json") != []  # it looks
    agent = [step for step in whole["steps"] if step["source"] == "agent"]
    assert [step["metrics"]["prompt_tokens"] for step in agent] == [2110, 2120, 2130]
    assert agent[0]["reasoning_content"] == "I think about step 1."
    assert agent[0]["message"] == "I look at step 1."
    assert agent[0]["tool_calls"][0]["arguments"]["command"] == "python -m pytest -q"
    assert agent[0]["observation"]["results"][0]["content"] == "1 failed"
    assert agent[1]["observation"]["results"][0]["subagent_trajectory_ref"] == [{"trajectory_id": child}]
    assert "picture plot.png, 4 × 3" in agent[1]["observation"]["results"][0]["content"]
    assert [step["step_id"] for step in whole["steps"] if step.get("is_copied_context")] == [2, 3, 4]
    assert whole["final_metrics"]["total_prompt_tokens"] == sum(step["metrics"]["prompt_tokens"] for step in agent)
    assert whole["subagent_trajectories"][0]["trajectory_id"] == child


@pytest.mark.parametrize("payload", PAYLOADS)
def test_harbors_validator_accepts_whatever_was_written(accepts: Any, payload: str, tmp_path: Path) -> None:
    whole = trajectory(hostile(payload))
    assert accepts(whole, tmp_path / "trajectory.json") == []
    assert whole["steps"][0]["message"].startswith(payload)


HOSTILE = [
    "# head", "- item", "1. item", "> quote", "```\ncode", "~~~\ncode", "<b>bold</b>", "&lt;b&gt;", "&amp;lt;", "[a](http://x)",
    "![a](http://x)", "**bold**", "_em_", "a_b _c_", "`code`", "| a | b |", "http://x.example", "www.x.example", "===", "---",
    "\\*x\\*", "[a]: /x", "~~gone~~", "a\r# head\r\n- item", "a\u2028# head", "`` ` ``\r```\r# out",
]  # fmt: skip


def _elements(foreign: str) -> list[str]:
    """What a reader of Markdown finds in a page in which each template's element holds this text."""
    text = str(escape(foreign))
    page = f"""<p>Menu</p><main><h2>{text}</h2><p>{text}</p><p class="facts">{text} · <a href="/x">Why</a></p>
<div class="words">{text}</div><ul><li><pre class="diff"><ins>{text}</ins><del>{text}</del></pre></li><li>{text}</li></ul>
<details><summary><strong>{text}</strong> {text}</summary>{text}</details><dl><dt>{text}</dt><dd>{text}</dd></dl>
<table><tr><th>{text}</th></tr><tr><td>{text} <code>{text}</code><pre>{text}</pre></td></tr></table></main>"""
    parser = markdown_it.MarkdownIt("gfm-like", {"html": True, "linkify": False})
    tokens = parser.parse(page_markdown(page))
    every = [each.type for token in tokens for each in (token, *(token.children or ()))]
    return [each for each in every if each not in ("text", "text_special", "softbreak")]


@pytest.mark.parametrize("foreign", HOSTILE)
def test_foreign_text_of_a_page_is_no_markup_in_its_markdown(foreign: str) -> None:
    """Wherever a template prints it: only the page's own elements are there, as with a harmless word."""
    harmless = _elements("word")
    assert [harmless.count(each) for each in ("heading_open", "fence", "list_item_open", "code_inline")] == [1, 2, 3, 2]
    assert _elements(foreign) == harmless


def test_a_page_as_markdown_keeps_what_it_says_and_leaves_out_what_leads_elsewhere() -> None:
    page = """<main><nav class="pages"><a href="/2">Later</a> <span>Page 1 of 2</span></nav>
<details class="exports">Download</details>
<p class="facts">tier 2 · <a href="/w">Why</a> · <a href="/e">Event 5</a> · <a href="/m" data-copy>Markdown</a></p>
<form><button>Send</button></form><pre class="diff"><ins>+ one</ins><del>- two</del></pre>
<svg><title>t</title><desc>from 1 to 2</desc></svg><ol><li value="7">see http://x.example and www.x.example</li></ol>
<table><tr><th scope="row">Turns</th><td><ul><li>a</li><li>b|c</li></ul></td></tr></table></main>"""
    assert page_markdown(page) == (
        "Page 1 of 2\n\ntier 2 · Event 5\n\n```diff\n+ one\n- two\n```\n\nfrom 1 to 2\n\n"
        "7. see http\\://x.example and www\\.x.example\n\n|  |  |\n|---|---|\n| Turns | a; b\\|c |\n"
    )
