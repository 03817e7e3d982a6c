"""Which family a model is of, by its name: a judge is lenient with its own kind, so it has to be of another one.

The name says it, wherever the model is served: ``openrouter/anthropic/claude-sonnet-4.6`` is Anthropic's.  Of a name that
says nothing the provider takes the family's place, but such a model is never chosen as a judge by itself.
"""

from __future__ import annotations

import re
from typing import Final

from agentic.models.providers.catalogue import provider_of

_NAMED: Final = (
    ("anthropic", r"claude"),
    ("openai", r"gpt|chatgpt|codex|davinci|o[1-9](?:-mini|-pro|-preview)?"),
    ("google", r"gemini|gemma|palm"),
    ("meta", r"(?:code)?llama"),
    ("alibaba", r"qwen|qwq|qvq"),
    ("mistral", r"(?:open-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral)"),
    ("deepseek", r"deepseek"),
    ("xai", r"grok"),
    ("moonshot", r"kimi|moonshot"),
    ("zhipu", r"glm|chatglm"),
    ("minimax", r"minimax"),
    ("microsoft", r"phi|wizardlm"),
    ("cohere", r"command|aya"),
    ("amazon", r"nova|titan"),
    ("ibm", r"granite"),
    ("nvidia", r"nemotron"),
    ("huggingface", r"smollm"),
)
_FAMILIES: Final = tuple((family, re.compile(rf"(?:^|[/_.:-])(?:{names})(?![a-z])")) for family, names in _NAMED)


def family_of(model: str) -> str:
    """The family of a LiteLLM name; its provider where the name does not tell, '' of no name at all."""
    named = named_family(model)
    if named or not model:
        return named
    provider = provider_of(model)
    return provider.name if provider is not None else model.partition("/")[0].lower()


def named_family(model: str) -> str:
    """The family as the name tells it; '' where it does not."""
    own = model.lower().rpartition("/")[2]
    found = [(at.start(), family) for family, names in _FAMILIES if (at := names.search(own)) is not None]
    return min(found)[1] if found else ""
