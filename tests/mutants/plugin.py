"""A pytest plugin that loads the core with one part taken out, named by ``THREADWRIGHT_MUTANT``.

It runs before any test module imports the core, so every importer sees the mutant.  A property that fails is not made
smaller: which one fails is all that is asked, and making it smaller takes minutes.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from importlib.util import find_spec, module_from_spec
from pathlib import Path

from hypothesis import Phase, settings

from tests.mutants.parts import without


def _load(mutant: str) -> None:
    sort, module_name, part = mutant.split(":")
    if sort == "rule":
        module = importlib.import_module(module_name)
        module.RULES = tuple(rule for rule in module.RULES if rule.__name__ != part)  # pyright: ignore
        return
    if sort == "step":
        module = importlib.import_module(module_name)
        module._STEPS.pop(part)  # pyright: ignore
        return
    spec = find_spec(module_name)
    assert spec is not None
    assert spec.origin is not None
    tree = without(ast.parse(Path(spec.origin).read_text()), int(part))
    module = module_from_spec(spec)
    sys.modules[module_name] = module
    parent, _, child = module_name.rpartition(".")
    exec(compile(tree, spec.origin, "exec"), module.__dict__)
    setattr(importlib.import_module(parent), child, module)


settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
settings.load_profile("mutants")
_load(os.environ["THREADWRIGHT_MUTANT"])
