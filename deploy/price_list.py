"""``python -m deploy.price_list``: make the copies of LiteLLM's price map and list of providers anew, of the one installed.

The product reads only these copies, so it knows prices where LiteLLM is not installed, and the newest where it is held.  A
model that LiteLLM's map names no longer keeps its last row: that of 1.110.2 leaves out all of OpenRouter's.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from agentic.models.openai.dialects import FILE as PROVIDERS
from agentic.models.providers.prices import FILE as PRICES
from agentic.models.providers.prices import LISTENING, SPEAKING

MAP = "model_prices_and_context_window_backup.json"
DESCRIBED = Path("llms", "openai_like", "providers.json")
READ = frozenset((
    "cache_creation_input_token_cost", "cache_read_input_token_cost", "input_cost_per_audio_token", "input_cost_per_second",
    "input_cost_per_token", "litellm_provider", "max_input_tokens", "max_output_tokens", "max_tokens", "mode",
    "output_cost_per_token", "supports_function_calling", "supports_reasoning", "supports_vision",
))  # fmt: skip
"""What is read of a model."""


def made(library: Path, before: str) -> tuple[str, str]:
    """The copies of the map, a model a line, and of the list of providers, of the LiteLLM in this folder."""
    rows = json.loads((library / MAP).read_text(encoding="utf-8"))
    wanted = {*SPEAKING, LISTENING}
    models = {name: row for name, row in rows.items() if row.get("mode") in wanted and name != "sample_spec"}
    lines = [
        f"{json.dumps(name)}: {json.dumps({key: row[key] for key in sorted(READ & row.keys())})}"
        for name, row in sorted((json.loads(before) | models).items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n", (library / DESCRIBED).read_text(encoding="utf-8")


def installed() -> Path:
    """The folder of LiteLLM; found without importing it."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


if __name__ == "__main__":
    for file, text in zip((PRICES, PROVIDERS), made(installed(), PRICES.read_text(encoding="utf-8")), strict=True):
        file.write_text(text, encoding="utf-8")
