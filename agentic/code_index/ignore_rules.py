"""Which paths git would ignore: the ``.gitignore`` of each folder, and the list that a repository keeps for itself.

As git has it, the nearest file with a pattern that fits decides, and a repository inside of another one follows its own
files alone.  Differently from git, a path that is ignored counts so although it was committed all the same; and the files
count where there is no repository, too.
"""

from __future__ import annotations

from agentic.sandbox.gitignore import Ignored, PatternLimit, Steps

NAME = ".gitignore"
EXCLUDE = "info/exclude"
"""Below ``.git``."""

Rules = tuple[tuple[str, Ignored], ...]
"""Each with the folder that it was read in and a slash, '' for the workspace's own; the nearest last."""


def with_rules(rules: Rules, folder: str, text: str) -> Rules:
    """The rules with those of one more file; what is too long to be followed is left out."""
    try:
        return (*rules, (f"{folder}/" if folder else "", Ignored(text)))
    except PatternLimit:
        return rules


def is_ignored(rules: Rules, path: str, is_folder: bool, steps: Steps) -> bool:
    """Whether this very path is ignored, and not what stands above it; False where that is too much to decide."""
    try:
        for folder, ignored in reversed(rules):
            verdict = ignored.verdict(path[len(folder) :], is_folder, steps)
            if verdict is not None:
                return verdict
    except PatternLimit:
        return False
    return False
