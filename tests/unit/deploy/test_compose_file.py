"""The compose file, the images' files and the unit, as far as they can be read without building anything."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.config.settings import Settings, variable
from bot.config.settings_example import GROUPS
from bot.config.settings_sources import FORGE_TOKENS

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def test_every_common_setting_can_be_given_and_each_that_is_passed_exists(services: dict[str, Any]) -> None:
    passed = {line.partition("=")[0] for line in services["bot"]["environment"]}
    common = {name if name.isupper() else variable(name) for group in GROUPS[:4] for name in group.names}
    assert common - passed == set()
    known = {variable(name) for name in Settings.model_fields} | {n for g in GROUPS for n in g.names if n.isupper()}
    assert passed - known - set(FORGE_TOKENS) == set()
    assert not [line for line in services["bot"]["environment"] if re.search(r"(?:KEY|TOKEN|SECRET)=", line)]


def test_the_bot_is_nobody_and_the_engine_has_no_network(services: dict[str, Any]) -> None:
    bot, engine = services["bot"], services["engine"]
    assert bot["read_only"] is True
    assert bot["cap_drop"] == ["ALL"]
    assert bot["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in bot
    assert engine["network_mode"] == "none"
    assert "privileged" not in engine
    assert engine["cap_add"] == ["SYS_ADMIN", "NET_ADMIN"]
    assert not [
        volume for service in services.values() for volume in service["volumes"] if volume.startswith(("/", "."))
    ]


def test_the_console_whose_door_nobody_could_open_is_off_until_somebody_sets_it(services: dict[str, Any]) -> None:
    passed = services["bot"]["environment"]
    assert [line for line in passed if line.startswith("THREADWRIGHT_CONSOLE=")] == [
        "THREADWRIGHT_CONSOLE=${THREADWRIGHT_CONSOLE:-off}"
    ]
    assert "THREADWRIGHT_CONSOLE_TOKEN" in passed
    unit = (DEPLOY / "threadwright.service").read_text()
    assert "\nEnvironment=THREADWRIGHT_CONSOLE=off\n" in unit
    assert "\nEnvironmentFile=" in unit.partition("THREADWRIGHT_CONSOLE=off")[2]  # what it says counts more


def test_an_image_runs_as_nobody_and_gets_no_secret() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE) == ["65532:65532"]
    assert text.count("--require-hashes") == 2
    assert "HEALTHCHECK" in text
    assert not re.search(r"^(?:ARG|ENV) .*(?:KEY|TOKEN|SECRET|PASSWORD)", text, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    allowed = {line[1:].removesuffix("/**") for line in ignored if line.startswith("!")}
    assert allowed == {
        "agentic", "bot", "reflexion", "requirements/build.txt", "requirements/aws-run.txt", "pyproject.toml", "README.md",
        "LICENSE",
    }  # fmt: skip
    assert ignored[-1] == "**/.env*"  # the last that fits decides


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit_and_finds_it_closed(tmp_path: Path) -> None:
    unit = tmp_path / "threadwright.service"
    text = (DEPLOY / "threadwright.service").read_text()
    assert "\nOOMPolicy=continue\n" in text
    unit.write_text(text.replace("/opt/threadwright/bin/threadwright", "/bin/true"))
    told = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert [line for line in told.stderr.splitlines() if unit.name in line] == []
    assert told.returncode == 0
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=40", str(unit)]
    judged = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert judged.returncode == 0, judged.stdout[-300:]  # exposure of at most 4.0 of 10
