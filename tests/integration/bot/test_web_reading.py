"""The web as people open it, a notebook that they send, and figures that the model sees: the whole product, real sockets."""

from __future__ import annotations

import json
from pathlib import Path

from agentic.core.events.execution_events import SubagentFinished, ToolFinished
from agentic.models.scripted.captured_request import CapturedRequest
from agentic.models.scripted.endpoint import ScriptedEndpoint
from agentic.models.scripted.replies import Reply
from bot.local_discord.local_discord import LocalGuild
from tests.integration.bot.test_seen_pictures import drawn, images
from tests.integration.bot.whole import finishes, uses, whole
from tests.integration.tools.test_notebooks import TEXT
from tests.integration.web.pages import ARTICLE, pages, said
from tests.integration.web.test_web_in_the_loop import results

FIGURE = "import base64\nclass P:\n    def _repr_png_(self): return open('/workspace/attachments/drawn.png', 'rb').read()\nP()"


async def test_an_owner_opens_the_web_and_answers_name_their_sources(guild: LocalGuild, tmp_path: Path) -> None:
    async with pages() as there:
        root = f"http://localhost:{there.port}"
        there.serves |= {
            "/one": said(ARTICLE.format(text="PAGE one says half to even.")),
            "/search": results(f"{root}/one"),
        }
        steps = [
            uses("web_search", query="python rounding", pages=1),
            uses("fetch", url=f"{root}/one"),
            uses("fetch", url="http://other.test/"),
            finishes("Looked up."),
        ]

        def script(request: CapturedRequest) -> Reply:
            first = request.messages[0].text
            if "A web search found" in first:
                return finishes("Half to even [1]." if "by the digests of pages" in first else "Half to even.")
            if "fix the rounding" in first:
                return finishes("Nothing looked up.")
            return steps[min(len(request.answers), 3)]

        async with (
            ScriptedEndpoint.start(script) as endpoint,
            whole(
                tmp_path / "home", endpoint, guild, tier_1=("anthropic/claude-3-haiku-20240307",),
                network_private=f"localhost:{there.port}", search_url=f"http://127.0.0.1:{there.port}",
            ) as running,
        ):  # fmt: skip
            await running.task("fix the rounding in cart.py")
            web = {"web_search", "fetch", "http"}
            assert not web & set(endpoint.requests[0].tools), "closed, and costs no prompt anything"
            chosen: dict[str, str | int | float | bool] = {
                "name": "network",
                "value": "@web localhost",
                "scope": "channel",
            }
            await guild.slash(guild.channel().id, "settings set", chosen)
            await guild.wait_for(
                lambda g: any("I may search and read the whole web; commands reach `localhost`" in m.content
                              for m in g.messages(g.channel().id, viewer=g.you))
            )  # fmt: skip
            thread = (await guild.post(guild.channel().id, f"{guild.bot.mention} look up how python rounds")).id
            for url in (f"{root}/one", "http://other.test/"):  # what the search read stands in the own network
                asked = await running.says(thread, url)
                assert "a page of the own network" in asked.content
                await guild.click(asked.id, asked.custom_ids()[0])
            await running.says(thread, "Looked up.")
            [execution] = await running.executions(thread)
            log = await running.log(execution)
    asked = next(request for request in endpoint.requests if "look up how" in request.messages[0].text)
    assert web <= set(asked.tools)
    search, page, refused, _ = [event for event in log if isinstance(event, ToolFinished)]
    assert f"Half to even [1].\n\nSources:\n[1] {root}/one" in search.preview
    assert "Title: Rounding & more" in page.preview
    assert refused.outcome == "failed", "in the web at large it is no policy that keeps it away"
    assert "other.test has no address that can be found" in refused.preview
    assert len([event for event in log if isinstance(event, SubagentFinished)]) == 2


async def test_a_notebook_that_is_sent_is_edited_by_cells_and_a_figure_is_seen(
    guild: LocalGuild, tmp_path: Path
) -> None:
    path = "attachments/sales.ipynb"
    steps = [
        uses("read", path=path),
        uses("notebook_edit", path=path, action="replace", cell=2, source="rows = 43"),
        uses("python", code=FIGURE),
        Reply(calls=(("finish", {"answer": "Seen.", "files": ["figures/figure-1.png"]}),)),
    ]
    async with (
        ScriptedEndpoint.start(lambda request: steps[min(len(request.answers), 3)]) as endpoint,
        whole(tmp_path / "home", endpoint, guild) as running,
    ):
        picture = drawn()
        files = [("sales.ipynb", TEXT.encode()), ("drawn.png", picture)]
        posted = await guild.post(guild.channel().id, f"{guild.bot.mention} fix the rows", files=files)
        folder = running.workspace(posted.id)
        answer = await running.says(posted.id, "Seen.")
        cells = json.loads((folder / path).read_text())["cells"]
    assert "notebook_edit" in endpoint.requests[0].tools
    assert [cell["source"] for cell in cells] == [["# Sales"], ["rows = 43"]]
    assert ("image/png", picture) in images(endpoint.requests[3]), "the model sees what it drew"
    assert "figure-1.png" in [file.filename for file in answer.attachments]
