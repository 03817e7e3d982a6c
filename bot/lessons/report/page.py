"""The whole page and its style: light and dark by the reader's choice, one column on a phone, ink on white on paper; pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.lessons.report.html import (
    Html,
    style_sheet,
    tag,
    whole,
)
from bot.lessons.report.report_words import day
from bot.lessons.report.sections import (
    each_effect,
    every_lesson,
    held_back,
    hero,
    judge,
    lives,
    remembered,
    retired,
    tiles,
    waiting,
)
from reflexion.lessons.fact import Fact
from reflexion.measurement.report import LessonsReport

STYLE = """
:root { color-scheme: light dark;
  --paper: light-dark(#f6f5f1, #14161a); --raised: light-dark(#ffffff, #1c1f25); --ink: light-dark(#1d2026, #e8e9ec);
  --soft: light-dark(#5b616c, #a3a9b5); --faint: light-dark(#8b919c, #767d8a); --line: light-dark(#e3e1da, #2c3038);
  --grid: light-dark(#ecebe5, #282c34); --with: light-dark(#3d5bd9, #8ba2ff);
  --with-soft: light-dark(#dfe5fb, #2a3358);
  --without: light-dark(#8a8f99, #8b929f); --good: light-dark(#197a4b, #5ccf94); --bad: light-dark(#b93a2b, #ff8f7d);
  --wait: light-dark(#9a6200, #f0b65a); --wait-soft: light-dark(#fdf3dd, #33291a);
  --sheet: light-dark(#f0efe9, #14161a); }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
main { max-width: 1060px; margin: 0 auto; padding: 44px 24px 72px; }
h1, h2, h3, p, ul, dl, dd, figure { margin: 0; padding: 0; }
h1 { font-size: 30px; line-height: 1.2; font-weight: 680; letter-spacing: -.015em; }
h2 { font-size: 19px; font-weight: 660; letter-spacing: -.005em; }
h3 { font-size: 14px; font-weight: 640; }
.quiet { color: var(--soft); } .small { font-size: 13px; } .nothing { color: var(--soft); padding: 4px 0; }
.words { overflow-wrap: anywhere; unicode-bidi: isolate; }
code, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .87em; }
header .quiet { margin-top: 6px; }
section { margin-top: 44px; }
section > h2 + .quiet { margin-top: 4px; max-width: 74ch; }
section > .card, section > .rows, section > .pair { margin-top: 16px; }
.card { background: var(--raised); border: 1px solid var(--line); border-radius: 14px; padding: 22px 24px; }
.hero { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 36px; align-items: center;
  margin-top: 26px; }
.hero .number { font-size: 56px; line-height: 1.05; font-weight: 700; letter-spacing: -.03em; }
.hero .number small { font-size: 20px; font-weight: 560; letter-spacing: 0; color: var(--soft); }
.hero .verdict { margin-top: 10px; max-width: 46ch; }
.up { color: var(--good); } .down { color: var(--bad); } .unsure { color: var(--ink); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-top: 12px; }
.tile { background: var(--raised); border: 1px solid var(--line); border-radius: 12px; padding: 13px 16px; }
.tile b { display: block; font-size: 24px; font-weight: 660; line-height: 1.2; letter-spacing: -.01em; }
.tile.waits { background: var(--wait-soft); border-color: transparent; } .tile.waits b { color: var(--wait); }
.bars { display: grid; grid-template-columns: max-content minmax(60px, 1fr) max-content; gap: 12px 14px;
  align-items: center; }
.bars b { font-weight: 640; }
svg { display: block; width: 100%; overflow: visible; }
.pill { display: inline-block; padding: 1px 9px; border-radius: 99px; border: 1px solid currentColor;
  font-size: 12px; font-weight: 570;
  line-height: 1.5; white-space: nowrap; }
.is-active { color: var(--good); } .is-probation { color: var(--with); } .is-candidate { color: var(--soft); }
.is-quarantined { color: var(--wait); } .is-retired { color: var(--soft); }
.rows { border: 1px solid var(--line); border-radius: 14px; background: var(--raised); overflow: hidden; }
.row { display: grid; gap: 6px 22px; padding: 13px 20px; align-items: center; }
.row + .row { border-top: 1px solid var(--line); }
.effect { grid-template-columns: minmax(0, 5fr) minmax(120px, 4fr) 178px; }
.life { grid-template-columns: minmax(0, 4fr) minmax(0, 8fr); }
.head { padding-block: 9px; background: var(--sheet); color: var(--soft); font-size: 12.5px; }
.title { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden;
  line-height: 1.4; }
.under { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: center; margin-top: 5px; font-size: 12.5px;
  color: var(--soft); }
.figures { font-size: 13px; color: var(--soft); }
.figures b { display: block; font-size: 15px; font-weight: 640; color: var(--ink); }
.figures span { display: block; }
.figures b.up { color: var(--good); } .figures b.down { color: var(--bad); }
.waiting { padding: 16px 20px; } .waiting + .waiting { border-top: 1px solid var(--line); }
.waiting .why { color: var(--wait); font-size: 13.5px; margin-top: 6px; }
.said { margin-top: 8px; }
.said dt { color: var(--soft); font-size: 12.5px; } .said dd { margin-bottom: 8px; }
.pair { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 32px; align-items: center; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 7px 16px; } .facts dt { color: var(--soft); }
.facts dd { font-weight: 600; }
details { border-top: 1px solid var(--line); } details:first-child { border-top: 0; }
summary { padding: 12px 20px; cursor: pointer; display: flex; gap: 12px; align-items: baseline; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before { content: "›"; color: var(--faint); font-weight: 700; }
details[open] > summary::before { transform: rotate(90deg); }
summary:hover { background: var(--sheet); } summary .words { flex: 1; min-width: 0; }
details > div { padding: 2px 20px 18px 40px; }
pre { margin: 6px 0 0; padding: 10px 12px; border-radius: 9px; background: var(--sheet); white-space: pre-wrap;
  overflow-wrap: anywhere;
  font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 560; color: var(--soft); font-size: 12.5px; }
th, td { padding: 9px 20px; vertical-align: top; } tr + tr td { border-top: 1px solid var(--line); }
thead th { background: var(--sheet); }
.ends { display: flex; justify-content: space-between; }
figure .ends { max-width: 300px; margin: 4px auto 8px; }
.legend { display: flex; flex-wrap: wrap; gap: 5px 18px; padding: 11px 20px; border-top: 1px solid var(--line);
  color: var(--soft); font-size: 12.5px; }
.legend span { display: inline-flex; gap: 7px; align-items: center; }
.legend svg { width: 16px; height: 12px; flex: none; }
footer { margin-top: 52px; padding-top: 18px; border-top: 1px solid var(--line); color: var(--soft); font-size: 13px;
  }
footer p + p { margin-top: 6px; } footer p { max-width: 86ch; }
@media (max-width: 720px) {
  main { padding: 26px 14px 56px; } h1 { font-size: 25px; }
  .hero, .pair { grid-template-columns: minmax(0, 1fr); gap: 22px; } .card { padding: 18px 16px; }
.hero .number { font-size: 46px; }
  .effect, .life { grid-template-columns: minmax(0, 1fr); } .row { padding: 13px 16px; } .head { display: none; }
  .figures { display: flex; flex-wrap: wrap; gap: 0 10px; align-items: baseline; }
  .legend, summary, .waiting { padding-inline: 16px; } details > div { padding-inline: 16px; }
summary { flex-wrap: wrap; }
  summary .words { flex-basis: 80%; }
  .tile:last-child:nth-child(odd) { grid-column: 1 / -1; }
  table, tbody, tr, td { display: block; } thead { display: none; } td { padding: 1px 16px; }
  td.small { display: inline-block; max-width: 100%; } tr { padding: 9px 0; }
  tr + tr { border-top: 1px solid var(--line); } tr + tr td { border: 0; }
}
@media print { body { background: #fff; } .card, .rows, .tile { break-inside: avoid; }
main { max-width: none; padding: 0; } }
"""


TITLE = "What the lessons are worth"
GENERATOR = "threadwright lessons report"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing runs and nothing is fetched, whatever a lesson holds."""


def page(report: LessonsReport, *, guild: str, at: datetime, facts: Sequence[Fact] = ()) -> str:
    """The document; ``guild`` '' is all servers."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="generator", content=GENERATOR),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{TITLE} · Threadwright"),
        style_sheet(STYLE),
    )
    sections = (
        hero(report), tiles(report), waiting(report), each_effect(report), lives(report), held_back(report), judge(report),
        retired(report), every_lesson(report), remembered(facts),
    )  # fmt: skip
    return whole(head, tag("body", tag("main", _header(report, guild, at), *sections, _footer())))


def _header(report: LessonsReport, guild: str, at: datetime) -> Html:
    where = f"Server {guild}" if guild else "All servers"
    when = ""
    if report.first is not None and report.last is not None:
        first, last = day(report.first), day(report.last)
        when = f" · {first}" if first == last else f" · {first} to {last}"
    written = f"{where}{when} · written {day(at)}, {at:%H:%M} UTC"
    return tag("header", tag("h1", TITLE), tag("p", written, class_="quiet"))


def _footer() -> Html:
    return tag(
        "footer",
        tag("p", "A task counts if something other than the agent says how it went: a check, or people's votes. About one "
            "time in ten, a lesson that fits a task is left out at random, however good it looks. The uplift "
            "compares tasks with a lesson to tasks where it was left out, lesson by lesson."),
        tag("p", "Lessons quote models and the output of commands. They are shown here as text; nothing on this page runs, "
            "and nothing is fetched from anywhere."),
    )  # fmt: skip
