"""A moving picture of a page: frames taken when something has changed, each with a caption, light and dark."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from PIL import Image, ImageDraw, ImageFont
from playwright.async_api import Locator, Page

from tests.e2e.browsing import still

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
STRIP, SIZE, MARGIN = 84, 34, 36
"""Height of the caption, of its letters, and its distance from the edge, in pixels."""
COLOURS: dict[Scheme, tuple[str, str, str]] = {
    "light": ("#26241f", "#ffffff", "#2f6f6b"),
    "dark": ("#303237", "#ffffff", "#6fb8b1"),
}
"""The caption's paper, its ink, and the part of the film that has been shown."""
POINTER = ((0, 0), (0, 17), (4, 13.5), (7, 20), (10, 18.5), (7, 12.5), (12.5, 12.5))
"""The outline of a mouse's pointer, in the page's pixels."""
HEAVIEST = 700_000
COLOURS_KEPT = 128
"""Of each frame: a page has few, and letters' edges look the same with fewer steps, at two thirds of the size."""


@dataclass
class Film:
    """The frames so far; ``write`` keeps them with UPDATE_IMAGES=1, else in the folder."""

    page: Page
    folder: Path
    _frames: dict[Scheme, list[tuple[Image.Image, str, int]]] = field(default_factory=lambda: {"light": [], "dark": []})

    async def take(self, caption: str, seconds: float, pointing: Locator | None = None) -> None:
        """One frame of each scheme, shown so long; a screenshot has no mouse, so its pointer is drawn."""
        at = None
        await self.page.mouse.move(1, 1)
        if pointing is not None:
            box = await pointing.bounding_box()
            assert box is not None
            at = (box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
        for scheme in SCHEMES:
            await self.page.emulate_media(color_scheme=scheme)
            taken = await self.page.screenshot(animations="disabled", caret="hide")
            frame = Image.open(io.BytesIO(taken)).convert("RGB")
            if at is not None:
                _point(frame, at, await self.page.evaluate("devicePixelRatio"))
            self._frames[scheme].append((frame, caption, round(seconds * 1000)))
        await self.page.emulate_media(color_scheme="light")

    def write(self, scheme: Scheme, name: str) -> Path:
        """An animated WebP that repeats for ever; it is smaller than a GIF or an APNG of the same."""
        frames = self._frames[scheme]
        shown = [captioned(frame, text, scheme, at / (len(frames) - 1)) for at, (frame, text, _) in enumerate(frames)]
        shown = [frame.quantize(COLOURS_KEPT, dither=Image.Dither.NONE).convert("RGB") for frame in shown]
        path = still(name, self.folder)
        shown[0].save(
            path, save_all=True, append_images=shown[1:], duration=[lasts for _, _, lasts in frames], loop=0,
            lossless=True, quality=50, method=2,
        )  # fmt: skip
        assert path.stat().st_size < HEAVIEST, path
        return path


def captioned(frame: Image.Image, text: str, scheme: Scheme, done: float) -> Image.Image:
    """The frame with a line of text below it, and how far the film is."""
    paper, ink, accent = COLOURS[scheme]
    whole = Image.new("RGB", (frame.width, frame.height + STRIP), paper)
    whole.paste(frame)
    pen = ImageDraw.Draw(whole)
    pen.text((MARGIN, frame.height + STRIP / 2), text, ink, ImageFont.load_default(SIZE), anchor="lm")
    pen.rectangle((0, frame.height, round(frame.width * done), frame.height + 4), accent)
    return whole


def _point(frame: Image.Image, at: tuple[float, float], scale: float) -> None:
    outline = [((at[0] + x) * scale, (at[1] + y) * scale) for x, y in POINTER]
    ImageDraw.Draw(frame).polygon(outline, "#111111", "#ffffff", 3)
