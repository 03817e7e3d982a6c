"""A library whose names are had when they are asked for has all of them, and loads less."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentic.models.on_demand import names_on_demand

LIBRARY = {
    "__init__": "from . import near\nfrom .near import Near, own as other\nfrom .far import *\n__version__ = '7'\n",
    "near": "from .inner.leaf import Leaf, Other\nclass Near: pass\nown = object()\n",
    "far": "FAR = 'far'\n__all__ = ['FAR']\n",
    "inner/__init__": "from .leaf import Leaf\nfrom .heavy import Heavy\n",
    "inner/leaf": "class Leaf: pass\nOther = Leaf | None\n",
    "inner/heavy": "class Heavy: pass\n",
}

SDK = """
import sys
from agentic.models.on_demand import names_on_demand
from agentic.models.anthropic.client import MOSTLY_NAMED
with names_on_demand("anthropic", MOSTLY_NAMED):
    from anthropic import AsyncAnthropic
client = AsyncAnthropic(api_key="x", max_retries=0)
print(sum(name.partition(".")[0] == "anthropic" for name in sys.modules))
import httpx2
refused = httpx2.Response(429, request=httpx2.Request("POST", "https://example.org"))
body = {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}
error = client._make_status_error("no", body=body, response=refused)
from anthropic.types.shared.enforced_spend_limit_reached_error import EnforcedSpendLimitReachedError
assert type(error) is EnforcedSpendLimitReachedError
import anthropic
from anthropic._exceptions import APIStatusError
assert anthropic.APIStatusError is APIStatusError
assert client.messages.create
missing = [name for name in anthropic.__all__ if not hasattr(anthropic, name)]
assert not missing, missing
assert anthropic.AnthropicBedrock
from anthropic.types.beta import BetaMessage, message_create_params
assert issubclass(BetaMessage, anthropic.BaseModel)
assert message_create_params.MessageCreateParamsBase.__annotations__["model"]
assert client.beta.messages.create
"""


def loaded(library: str) -> set[str]:
    return {name.partition(".")[2] for name in sys.modules if name.startswith(f"{library}.")}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"on_demand_{tmp_path.name}"
    for module, text in LIBRARY.items():
        path = tmp_path / name / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return name


def test_a_module_is_loaded_when_a_name_of_it_is_asked_for(library: str) -> None:
    with names_on_demand(library):
        whole = import_module(library)
    assert loaded(library) == set()
    with names_on_demand(library):
        near = whole.Near
    assert near is sys.modules[f"{library}.near"].Near
    assert whole.other is sys.modules[f"{library}.near"].own
    assert loaded(library) == {"near", "inner", "inner.leaf"}


def test_what_the_text_does_not_say_plainly_is_there_all_the_same(library: str) -> None:
    with names_on_demand(library):
        whole = import_module(library)
        assert whole.inner.Heavy is sys.modules[f"{library}.inner.heavy"].Heavy
        assert "far" not in loaded(library)
        assert whole.FAR == "far"
    assert vars(whole)["__version__"] == "7"
    with pytest.raises(AttributeError):
        _ = whole.nonsense


def test_what_is_only_named_is_left_out_until_it_is_asked_for_afterwards(library: str) -> None:
    with names_on_demand(library, [f"{library}.inner.leaf"]):
        near = import_module(f"{library}.near")
        inner = import_module(f"{library}.inner")
        empty = inner.Leaf
        assert near.Leaf is empty
    assert loaded(library) == {"near", "inner"}
    assert not isinstance(near.Near(), empty)
    with pytest.raises(TypeError, match="cannot be called"):
        near.Other()
    made = near.Leaf()
    leaf = import_module(f"{library}.inner.leaf")
    assert type(made) is inner.Leaf is leaf.Leaf is not empty
    assert isinstance(made, near.Leaf)
    assert issubclass(leaf.Leaf, near.Leaf)
    assert not isinstance(near.Near(), near.Leaf)
    with names_on_demand(library, [f"{library}.inner.leaf"]):
        assert import_module(f"{library}.inner.leaf") is leaf, "what is there stays"


def test_all_below_a_package_can_be_left_out(library: str) -> None:
    with names_on_demand(library, [f"{library}.inner"]):
        near = import_module(f"{library}.near")
        with pytest.raises(TypeError, match="not before its library is imported"):
            near.Leaf()
    assert loaded(library) == {"near", "inner"}
    assert type(near.Leaf()) is sys.modules[f"{library}.inner.leaf"].Leaf


def test_a_module_that_was_left_out_is_found_later_however_it_was_asked_for(library: str) -> None:
    with names_on_demand(library, [f"{library}.inner"]):
        assert import_module(f"{library}.inner").leaf is sys.modules[f"{library}.inner.leaf"]
        assert find_spec(f"{library}.inner.heavy") is not None
    assert not issubclass(int, import_module(library).Near)
    assert type(import_module(library).inner.leaf.Leaf()).__module__ == f"{library}.inner.leaf"
    assert loaded(library) >= {"inner", "inner.leaf"}


def test_a_package_that_was_run_whole_has_its_names_afterwards(library: str) -> None:
    with names_on_demand(library, [f"{library}.inner"]):
        inner = import_module(f"{library}.inner")
        with pytest.raises(AttributeError):
            _ = inner.nonsense
    assert inner.Leaf is import_module(f"{library}.inner.leaf").Leaf
    assert issubclass(inner.Leaf, object)
    with pytest.raises(AttributeError):
        _ = inner.nonsense


def test_a_package_that_could_not_be_run_is_run_again_when_it_was_mended(library: str, tmp_path: Path) -> None:
    text = tmp_path / library / "__init__.py"
    text.write_text("raise RuntimeError('half an installation')\n", encoding="utf-8")
    with names_on_demand(library):
        whole = import_module(library)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="half an installation"):
                _ = whole.Near
        text.write_text("class Near: ...\n", encoding="utf-8")
        assert whole.Near.__module__ == library


def test_other_threads_import_meanwhile() -> None:
    finders = sys.meta_path
    with names_on_demand("nothing_of_this_name"):
        assert sys.meta_path is not finders
        assert finders == sys.meta_path[1:]
    assert sys.meta_path == finders


def test_a_star_takes_all_names_of_such_a_package(library: str) -> None:
    names: dict[str, object] = {}
    with names_on_demand(library):
        exec(f"from {library}.inner import *", names)
    assert {"Leaf", "Heavy"} <= names.keys()


def test_the_sdk_has_all_its_names_and_loads_a_twentieth_of_its_modules() -> None:
    run = subprocess.run(  # its modules are loaded in this process already
        [sys.executable, "-W", "error", "-c", SDK], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 80
