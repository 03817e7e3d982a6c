"""Forms as they are sent, within bounds of time and size."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web

FORM_BYTES = 200_000
SECONDS = 10.0
"""So long a form may take to arrive."""
SENT_AS = "application/x-www-form-urlencoded"


async def read_form(request: web.Request) -> Mapping[str, str]:
    """The fields of a form; later calls return the same. Raises ``HTTPException`` where there is none."""
    if request.content_type != SENT_AS and request.can_read_body:
        raise web.HTTPUnsupportedMediaType(text="Forms are sent in another way here.")
    try:
        async with asyncio.timeout(SECONDS):
            form = await request.post()
    except TimeoutError as error:
        raise web.HTTPRequestTimeout(text="The form took too long to arrive.") from error
    except (ValueError, LookupError) as error:  # of bytes or a character set that nobody knows
        raise web.HTTPBadRequest(text="The form cannot be read.") from error
    return {name: value for name, value in form.items() if isinstance(value, str)}
