"""Commands of the product's own inside a sandbox: a fixed environment, the system's programs, a git that runs nothing.

The home and the workspace are the agent's: what it put there (``~/.local/bin/git``, ``~/.gitconfig``, hooks, an fsmonitor)
must not stand between a person and what they decide about.  ``Sandbox.own`` takes every such command through here, and the
supervisor gives it this environment and nothing of the session's.
"""

from __future__ import annotations

import shlex

PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
"""Folders that are read-only in every kind of sandbox."""
ENVIRONMENT = {
    "PATH": PATH, "HOME": "/nonexistent", "TMPDIR": "/tmp", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb",  # noqa: S108
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": "/dev/null", "GIT_NO_LAZY_FETCH": "1", "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "GIT_PAGER": "cat", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_AUTHOR_NAME": "Threadwright", "GIT_AUTHOR_EMAIL": "threadwright@users.noreply.invalid",
    "GIT_COMMITTER_NAME": "Threadwright", "GIT_COMMITTER_EMAIL": "threadwright@users.noreply.invalid",
}  # fmt: skip
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.editor=false", "core.pager=cat", "core.quotePath=false",
    "core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.sshCommand=false", "core.untrackedCache=false",
    "core.ignoreStat=false", "core.trustctime=true", "core.checkStat=default", "core.warnAmbiguousRefs=false",
    "commit.gpgSign=false", "gpg.program=false", "merge.autoStash=false", "merge.verifySignatures=false",
    "merge.default=text", "merge.renames=false", "merge.directoryRenames=false", "merge.renormalize=false",
    "status.showUntrackedFiles=all", "status.renames=false", "diff.renames=false", "rerere.enabled=false",
    "gc.auto=0", "maintenance.auto=false", "protocol.allow=never", "submodule.recurse=false", "safe.directory=*",
)  # fmt: skip
"""They win over what a repository sets; -c and not GIT_CONFIG_COUNT, which older gits do not know."""
_GIT = " ".join(["git", *(f"-c {shlex.quote(setting)}" for setting in _SETTINGS)])
_PRELUDE = f'git() {{ command {_GIT} "$@"; }}\n'


def argv(script: str) -> list[str]:
    """The command line of a script of ours; its ``git`` is the system's, with nothing of a repository that runs."""
    return ["/bin/sh", "-c", _PRELUDE + script]
