"""The sources of settings: the environment, `--env-file`, and ``.env`` in ``THREADWRIGHT_HOME``; nothing else.

A folder that one works on may be anybody's, and so may be a ``.env`` in it: no such file is ever looked for there. A
file that others can write is refused, and an address from a file never meets a key from elsewhere: otherwise, whoever
can set the address would be sent the key.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values

from bot.config.settings_errors import OWN_NAMES, PREFIX, Mistake, SettingsMistaken

ENV_FILE = ".env"
OPTION = "--env-file"
HOME = f"{PREFIX}HOME"
TOKEN = "DISCORD_TOKEN"  # noqa: S105 - the name of a setting
DEFAULT_HOME = Path("~/.threadwright")
ENVIRONMENT = "the environment"
LARGEST = 1_000_000
"""Maximum bytes of a settings file."""
PROVIDER_VARIABLES = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE",
    "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY",
    "OLLAMA_API_BASE", "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY",
)  # fmt: skip
"""Variables of model providers that are read from the environment or from a file."""
FORGE_TOKENS = ("GITHUB_TOKEN", "FORGEJO_TOKEN", "GITEA_TOKEN", "CODEBERG_TOKEN")
"""Tokens of hosts of repositories that may stand in a file; other names are read from the environment only."""
AWS_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")
"""What the SDK of AWS signs requests with; it also looks where it always does. No secret of these is sent anywhere, so
an address of AWS may come from another place than they do."""
TELEMETRY_VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
)  # fmt: skip
"""Variables of OpenTelemetry that may stand in a file; the others are read from the environment only."""
OF_LIBRARIES = frozenset((*PROVIDER_VARIABLES, *FORGE_TOKENS, *AWS_CREDENTIALS, *TELEMETRY_VARIABLES))
"""Variables that are no settings of ours, and that libraries read from the environment."""
_OWN_NAMES = frozenset(name for names in OWN_NAMES.values() for name in names)
_ADDRESS = re.compile(r"(?P<stem>[A-Z0-9_]{1,80})_(?:BASE_URL|API_BASE|ENDPOINT)")
_CREDENTIAL = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|HEADERS)")
_DISCORD = f"{PREFIX}DISCORD_API"
_ASSIGNED = re.compile(r"\s{0,9}(?:export\s{1,9})?([A-Za-z_][A-Za-z0-9_]{0,80})\s{0,9}=")


@dataclass(frozen=True, slots=True)
class File:
    """The content of a settings file when it was read."""

    path: Path
    values: Mapping[str, str]
    mode: int = 0o600

    @property
    def private(self) -> bool:
        """Whether nobody but its owner can read it."""
        return not self.mode & 0o077


@dataclass(frozen=True, slots=True)
class Sources:
    """The environment and the files, in order of precedence."""

    environment: Mapping[str, str]
    files: tuple[File, ...]
    env_file: Path | None = None
    """The file given by `--env-file`."""

    def told(self, name: str) -> tuple[str, str]:
        """Return a variable's value and its source; ('', '') where it is not set."""
        if name in self.environment:
            return self.environment[name], ENVIRONMENT
        for file in self.files:
            if value := file.values.get(name):
                return value, str(file.path)
        return "", ""

    def from_files(self) -> dict[str, str]:
        """Return the variables that only the files set."""
        merged: dict[str, str] = {}
        for file in reversed(self.files):
            merged |= {name: value for name, value in file.values.items() if value}
        return {name: value for name, value in merged.items() if name not in self.environment}

    def names(self) -> set[str]:
        """Return every name that is set anywhere."""
        return {*self.environment, *(name for file in self.files for name in file.values)}

    def for_libraries(self) -> dict[str, str]:
        """Return the variables of providers, hosts and OpenTelemetry that the files set."""
        return {name: value for name, value in self.from_files().items() if name in OF_LIBRARIES}

    def mixed(self) -> Iterator[Mistake]:
        """Yield addresses from a file that would be used with a key from elsewhere."""
        for name, place in sorted((name, self.told(name)[1]) for name in self.from_files()):
            for key in self._keys_for(name):
                value, other = self.told(key)
                if value and other != place:
                    yield Mistake(
                        name,
                        f"it is set in {place}, and {key} in {other}: the key would be sent to an address from another place",
                        f"Put {key} into {place} too, or set {name} in the environment",
                    )

    def _keys_for(self, name: str) -> Iterable[str]:
        """Return the variables whose values are sent to the address in ``name``."""
        if name == _DISCORD:
            return (TOKEN,)
        address = _ADDRESS.fullmatch(name)
        if address is None:
            return ()
        begins = f"{address['stem']}_"
        return sorted(
            other for other in self.names() if other.startswith(begins) and _CREDENTIAL.search(other[len(begins) :])
        )


def gather(env_file: Path | None, environment: Mapping[str, str]) -> Sources:
    """Read the files; raises ``SettingsMistaken`` where one of them cannot be trusted, or read."""
    here = {_ours(name): value for name, value in environment.items() if value or name in PROVIDER_VARIABLES}
    files: list[File] = []
    if env_file is not None:
        given = read(env_file)
        if given is None:
            raise SettingsMistaken((Mistake(OPTION, f"there is no file {env_file}", "Write the path of one"),))
        files.append(given)
    home = home_of(next((text for text in (here.get(HOME), *(f.values.get(HOME) for f in files)) if text), ""))
    own = read(home / ENV_FILE)
    if own is not None and all(own.path != file.path for file in files):
        if own.values.get(HOME):
            problem = f"it is set in {own.path}, which is looked for there"
            raise SettingsMistaken((Mistake(HOME, problem, "Set it in the environment, or take it out"),))
        files.append(own)
    return Sources(here, tuple(files), files[0].path if env_file is not None else None)


def home_of(text: str) -> Path:
    """Return the home that a setting names; raises ``SettingsMistaken`` for a relative one."""
    home = (Path(text) if text else DEFAULT_HOME).expanduser()
    if not home.is_absolute():
        problem = "it does not begin with / or ~, so it would be another folder wherever you are"
        raise SettingsMistaken((Mistake(HOME, problem, "Write the whole path"),))
    return home


def read(path: Path) -> File | None:
    """Read a settings file; None where there is none. Raises ``SettingsMistaken``.

    ``${NAME}`` is not expanded: a file could send a key of the environment away by putting it into an address.
    """
    where = path.expanduser().absolute()
    try:
        with where.open("rb") as file:
            about = os.fstat(file.fileno())
            if distrusted := why_distrusted(about):
                check = (
                    "Look at what it says, then: chmod 600" if about.st_uid == os.geteuid() else "Copy what you want of"
                )
                raise SettingsMistaken((Mistake(str(where), distrusted, f"{check} {where}"),))
            text = file.read(LARGEST).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "it is no text"
        raise SettingsMistaken((Mistake(str(where), f"it cannot be read: {why}", "Name another file"),)) from None
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    kept = {_ours(name): value or "" for name, value in values.items() if _counts(name)}
    return File(where, kept, stat.S_IMODE(about.st_mode) if stat.S_ISREG(about.st_mode) else 0o600)


def why_distrusted(about: os.stat_result) -> str:
    """Say which other users can write a file; '' for none."""
    if stat.S_ISFIFO(about.st_mode):  # `--env-file <(…)`
        return ""
    if about.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user, who can change what it says"
    if about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and about.st_gid != about.st_uid):
        return "other users can write it"
    return ""  # a group that has the number of its user is that user's own


def unread(folder: Path, sources: Sources | None) -> Path | None:
    """Return a folder's ``.env`` if it holds our settings and was not read; anybody may have written it, so it is
    parsed with care.
    """
    path = folder / ENV_FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None
        if sources is not None and any(_same(each.path, about) for each in sources.files):
            return None
        lines = file.read(64_000).decode("utf-8", "replace").splitlines()
    found = (_ASSIGNED.match(line) for line in lines)
    return path if any(match and _counts(match[1]) for match in found) else None


def _same(path: Path, about: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), about)
    except OSError:
        return False


def _ours(name: str) -> str:
    """Return the name of one of our settings in capitals, since pydantic reads them in any case."""
    return name.upper() if name.upper().startswith(PREFIX) or name.upper() in _OWN_NAMES else name


def _counts(name: str) -> bool:
    return _ours(name).startswith(PREFIX) or _ours(name) in _OWN_NAMES or name in OF_LIBRARIES
