"""The page of a pull request, for whoever opens its link in a browser: what it changes, its checks, what was said."""

from __future__ import annotations

from html import escape

from bot.local_forge.forge_records import CheckRun, HostedRepository, Pull
from bot.local_forge.git_endpoint import git, tip

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}
_SIGNS = {"pending": "…", "success": "✅", "failure": "❌"}
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="3"><title>{title}</title>
<style>:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui; max-width: 50em; margin: 2em auto; padding: 0 1em }}
pre {{ overflow: auto; border: 1px solid #8888; padding: .5em }}</style></head>
<body><h1>{title}</h1><p>{state}: {author} wants to merge <code>{head}</code> into <code>{base}</code> of {repository}.</p>
<pre>{body}</pre><h2>Checks</h2>{checks}<h2>Changes</h2><pre>{diff}</pre>{notes}</body></html>
"""


def pull_page(held: HostedRepository, pull: Pull) -> str:
    """Return the page; it loads itself again every few seconds, so a check is seen turning green."""
    sha = tip(held.folder, pull.head) or pull.sha
    diff = git(held.folder, "diff", f"{pull.base}...{sha}") if sha else ""
    return _PAGE.format(
        title=escape(f"Pull request {pull.number}: {pull.title}"), state="merged" if pull.merged else pull.state,
        author=escape(pull.author), head=escape(pull.head), base=escape(pull.base), repository=escape(held.full),
        body=escape(pull.body), diff=escape(diff),
        checks="".join(map(_check, held.checks.get(sha, []))) or "<p>None yet.</p>",
        notes="".join(f"<h3>{escape(note.author)}</h3><pre>{escape(note.text)}</pre>" for note in pull.notes),
    )  # fmt: skip


def _check(run: CheckRun) -> str:
    return f"<p>{_SIGNS[run.state]} {escape(run.name)}</p>" + (f"<pre>{escape(run.log)}</pre>" if run.log else "")
