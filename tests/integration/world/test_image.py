"""The image that commands run in is the one that was made: by its digest, from the engine's layer to the sandbox."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from agentic.sandbox.backends.docker import IMAGE, Docker

from .rungs import DEPLOY, docker_url

__all__ = ["docker_url"]

CARRIED = ("node", "npm", "npx", "pipx", "uv", "uvx", "git", "pip", "python3", "curl", "jq", "make", "rg")
"""What people work and install with."""


@pytest.fixture
def make_image(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that makes it, here of one package."""
    loader = importlib.machinery.SourceFileLoader("make_image", str(DEPLOY / "make-image"))
    spec = importlib.util.spec_from_loader("make_image", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "closure", lambda _: ["base-passwd"])
    monkeypatch.setattr(module, "lay_tools", lambda _: None)
    return module


@pytest.mark.docker
async def test_an_image_can_be_named_by_its_digest_and_no_other_is_taken(docker_url: str, tmp_path: Path) -> None:
    told = subprocess.run(
        ["docker", "-H", docker_url, "image", "inspect", "-f", "{{.Id}}", IMAGE],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    digest = told.stdout.strip()
    assert await Docker(tmp_path, docker_url, digest).check() == ""
    other = digest[:-4] + ("0000" if digest[-4:] != "0000" else "1111")
    assert f"there is no image {other}" in await Docker(tmp_path, docker_url, other).check()


@pytest.mark.docker
def test_the_engines_layer_is_held_against_what_it_was_handed(
    make_image: ModuleType, docker_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_url)
    tag = "threadwright-sandbox:held-against"
    made = [tag]
    try:
        make_image.import_from_here(tag)
        made.append(make_image.told(tag, "{{.Id}}"))  # the tag leaves it when it is made again
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", made[1])
        monkeypatch.setattr(make_image, "told", lambda *_: "sha256:" + "0" * 64)
        with pytest.raises(SystemExit, match="do not use"):
            make_image.import_from_here(tag)
    finally:
        subprocess.run(["docker", "-H", docker_url, "rmi", "-f", *made], capture_output=True, check=False, timeout=120)


@pytest.mark.docker
def test_what_the_image_carries_runs_in_it(docker_url: str) -> None:
    """For the user that commands run as, without a network."""
    script = f'set -e; for each in {" ".join(CARRIED)}; do echo "$each: $($each --version)"; done'
    command = ["docker", "-H", docker_url, "run", "--rm", "--network", "none", IMAGE, "sh", "-c", script]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert told.returncode == 0, told.stdout + told.stderr
    assert [name for name in CARRIED if not re.search(rf"^{name}: \D*\d+\.\d+", told.stdout, re.MULTILINE)] == []


def test_make_image_has_all_that_the_dockerfile_has(make_image: ModuleType) -> None:
    """What the Dockerfile asks for, and the place of each command that is no package's."""
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    asked = re.search(r"--no-install-recommends \\\n(.*?) && ", dockerfile, re.DOTALL)
    assert asked is not None
    assert set(asked[1].replace("\\", "").split()) - set(make_image.WANTED) == set()
    for name, to in make_image.LINKS.items():
        assert f"{make_image.TOOLS}/{to} " in dockerfile, name


def test_the_base_is_pinned_by_its_digest() -> None:
    """One base for all images, and no stage that begins with anything else."""
    pinned: set[str] = set()
    for file in (DEPLOY / "Dockerfile", DEPLOY.parent / "Dockerfile"):
        text = file.read_text()
        pinned |= set(re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE))
        stages = {"${BASE}", *re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE)}
        assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) <= stages, file
    (base,) = pinned
    assert re.fullmatch(r"debian:12-slim@sha256:[0-9a-f]{64}", base)


def test_nothing_that_a_program_needs_is_left_out(make_image: ModuleType) -> None:
    """Tests of packages are; a module that is only called like one is not."""
    packages = "/usr/lib/python3/dist-packages"
    assert not make_image.LEFT_OUT.match(f"{packages}/pip/_vendor/pyparsing/testing.py/")
    assert make_image.LEFT_OUT.match(f"{packages}/numpy/tests/test_array.py/")
    assert make_image.LEFT_OUT.match("/usr/share/doc/git/README/")
