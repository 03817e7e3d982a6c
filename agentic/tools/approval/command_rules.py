"""Which commands a person must approve first: what deletes or rewrites more than the task's own files.

The sandbox bounds what a command can reach; this gate guards the people's own work inside the workspace, and what they
share with others by git, against slips and against advice that came from a file or a page.  It reads the command as
bash would (``agentic/bash``), also inside of substitutions, ``bash -c``, ``xargs`` and ``find -exec``.  It does not look
into scripts and programs; for those, the checkpoint before the first change leads back.

Which rule reads which program stands in ``_RULES``; the rules themselves lie beside, one family to a module.

What passes although it deletes:
  single files that are named       they are few and seen in the command, and the checkpoint brings them back
  files this execution has made     its own to delete; folders only if they were made on the same line
  derived folders and files         node_modules, build, __pycache__, *.pyc …: whatever made them makes them again
  scratch                           /tmp, what ``mktemp`` made, caches in the home of the sandbox
  work of git that git can undo     a commit amended, a merged branch deleted (-d), a rebase given up (--abort)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

from agentic.bash.command_output import UNKNOWN
from agentic.bash.evaluation import Evaluation, SimpleCommand, commands
from agentic.bash.parser import TooDeep, TooLong, parse
from agentic.core.events.values import Finding
from agentic.tools.approval.file_rules import (
    DISKS,
    dd,
    disk,
    find,
    move,
    pack,
    redirection,
    rights,
    rm,
    rsync,
    tar,
    tee,
    trash,
    truncate,
)
from agentic.tools.approval.gated_command import Found, GatedCommand, Rule, Runs, Unread, flags_of
from agentic.tools.approval.git_rules import git, patch, rewritten_history
from agentic.tools.approval.python_rules import TOO_LONG, python, python_code
from agentic.tools.approval.script_rules import PROGRAMS, SQL_TOOLS, awk, make, named_task, script, sed, sql
from agentic.tools.approval.service_rules import container, service
from agentic.tools.approval.shell_rules import SHELLS, alias, shell
from agentic.tools.approval.wrapped_commands import bare, filled, set_before

DEPTH = 5
MOST_FINDINGS = 20
MORE = "does more than can be listed here"
DEEP = "runs commands inside other commands, too deep to be checked"
UNREADABLE = "can't be read for certain, and names a program that can destroy files"
_MAY_DESTROY = re.compile(
    r"(?<![\w.-])(?:rm|rmdir|unlink|git|find|dd|truncate|shred|rsync|chmod|chown|mv|rimraf|mkfs|sh|bash|eval|xargs)(?![\w-])"
)
"""Programs for which a line asks that only its shell can read: a grammar that fails may fail at their arguments."""
_SETTINGS = ("GIT_", "PAGER", "EDITOR", "VISUAL", "PROMPT_COMMAND", "BASH_ENV", "PS4", "ENV")
"""Variables that hold commands."""
_DESTROYS = frozenset(
    ("-delete", "--delete", "--force", "--hard", "--recursive", "--mirror", "--remove-files", "--purge")
)
_RULES: dict[str, Rule] = {
    **dict.fromkeys((*SHELLS, "eval", "source", "."), shell),
    "alias": alias,
    **dict.fromkeys(("rm", "unlink"), rm),
    **dict.fromkeys(("rimraf", "wipe", "trash", "trash-put", "trash-cli", "del-cli"), trash),
    "find": find,
    **dict.fromkeys(("mv", "cp", "install"), move),
    "tee": tee,
    **dict.fromkeys(("chmod", "chown", "chgrp"), rights),
    "truncate": truncate,
    "dd": dd,
    "rsync": rsync,
    "tar": tar,
    **dict.fromkeys(("zip", "7z", "gzip", "xz", "zstd", "bzip2"), pack),
    "git": git,
    **dict.fromkeys(("git-filter-repo", "bfg"), rewritten_history),
    "patch": patch,
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("awk", "gawk", "mawk"), awk),
    **dict.fromkeys(PROGRAMS, script),
    **dict.fromkeys(("make", "gmake"), make),
    **dict.fromkeys(("just", "task", "rake"), named_task),
    **dict.fromkeys(SQL_TOOLS, sql),
    **dict.fromkeys(("docker", "podman", "docker-compose"), container),
}
"""By the name of the program; what reads commands to services, Pythons and disks goes before."""


def gate(command: str, created: frozenset[str] = frozenset(), cwd: str = ".") -> tuple[Finding, ...]:
    """All for which a person must approve the command; nothing where it may run.

    ``created`` are files that this execution has made.
    """
    return _listed(_of_text(command, SimpleCommand(cwd=cwd, evaluation=Evaluation(text=command)), created, 0))


def gate_code(code: str, created: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """The same of Python code: what it deletes or empties, and commands that it runs, as far as they stand in it."""
    command = GatedCommand(["python"], SimpleCommand(), created)
    return _listed(_each(python_code(code, command, []), command, 0))


def _listed(findings: Iterable[Finding | Unread]) -> tuple[Finding, ...]:
    """Each once; of more than people read, only that there are more.  What cannot be read counts beside others only."""
    listed = tuple(dict.fromkeys(islice(findings, MOST_FINDINGS + 1)))
    if all(isinstance(each, Unread) for each in listed):
        return ()
    found = tuple(each if isinstance(each, Finding) else Finding(text=each.text) for each in listed)
    return found if len(found) <= MOST_FINDINGS else (*found[:-1], Finding(text=MORE))


def _of_text(text: str, within: SimpleCommand, created: frozenset[str], depth: int) -> Iterator[Finding | Unread]:
    """The same of a text that a command runs."""
    if depth > DEPTH:
        yield Finding(text=DEEP)
        return
    found = False
    if text.lstrip().startswith(UNKNOWN):
        yield Unread()
    try:
        script = parse(text)
        for simple in commands(script, within.cwd, within.evaluation, within.variables):
            for finding in _of_simple(simple, created, depth):
                found = found or isinstance(finding, Finding)
                yield finding
    except TooLong:
        yield Finding(text=TOO_LONG)
        return
    except (TooDeep, RecursionError):
        yield Finding(text=DEEP)
        return
    if not script.sound and (found or _MAY_DESTROY.search(text)):
        yield Finding(text=UNREADABLE)


def _of_simple(simple: SimpleCommand, created: frozenset[str], depth: int) -> Iterator[Finding | Unread]:
    found = False
    for finding in _of_words(simple.words, simple, created, depth):
        found = found or isinstance(finding, Finding)
        yield finding
    if not found and any(UNKNOWN in word for word in simple.words):  # what is not set stands for nothing
        left = [known for word in simple.words if (known := word.replace(UNKNOWN, ""))]
        if bare(left)[0][:1] != bare(simple.words)[0][:1]:
            yield from _of_words(left, simple, created, depth)


def _of_words(
    said: list[str], simple: SimpleCommand, created: frozenset[str], depth: int
) -> Iterator[Finding | Unread]:
    """The same of words, with all that stands before the command itself."""
    if depth > DEPTH:
        yield Finding(text=DEEP)
        return
    words, piped = bare(said)
    command = GatedCommand(words, simple, created)
    findings = [_settings(said), redirection(command) if simple.writes else ()]
    if words:
        lists = filled(said, words, simple) if piped else [words]
        findings += [_of_program(replace(command, words=each, piped=piped)) for each in lists]
    yield from _each(chain.from_iterable(findings), command, depth)


def _each(found: Iterable[Found], command: GatedCommand, depth: int) -> Iterator[Finding | Unread]:
    """All reasons among what rules found, and of what it runs."""
    for each in found:
        if isinstance(each, Runs):
            yield from _of_run(each, command, depth + 1)
        elif each:
            yield Finding(text=each) if isinstance(each, str) else each


def _of_run(run: Runs, command: GatedCommand, depth: int) -> Iterator[Finding | Unread]:
    if run.simple is not None:
        return _of_simple(run.simple, command.created, depth)
    simple = command.simple
    cwd = simple.cwd if run.cwd is None else run.cwd
    within = SimpleCommand(cwd=cwd, variables=simple.variables | run.variables, evaluation=simple.evaluation)
    return _of_text(run.text, within, command.created, depth)


def _settings(words: list[str]) -> Iterator[Found]:
    """Commands that are handed over in variables."""
    for name, value in set_before(words):
        if name.startswith(_SETTINGS):
            yield Runs(f"git {value}" if name.startswith("GIT_CONFIG_VALUE") else value)


def _of_program(command: GatedCommand) -> Iterator[Found]:
    """What the rule says that reads this program."""
    path, *rest = command.words
    if UNKNOWN in command.name:
        return _of_unknown(command)
    if "/" in path and (text := command.text_of(path)):
        interpreter = "python3" if "python" in text.partition("\n")[0] else "bash"
        command = replace(command, words=[interpreter, *command.words])
    name = command.name
    rule = _RULES.get(name)
    if rest[:1] == ["run"] and rule not in (shell, alias, sql):
        rule = named_task
    if name.startswith(("python", "pypy", "ipython")):
        rule = python
    elif name.startswith(DISKS):
        rule = disk
    return chain(service(command), rule(command) if rule is not None else ())


def _of_unknown(command: GatedCommand) -> Iterator[Found]:
    """A command whose name is not known asks where its words look as if they destroyed, or it is all that is known."""
    flags, _ = flags_of(command.words[1:])
    recursive = bool(flags & {"-r", "-R"}) and "-f" in flags
    if command.simple.computed or recursive or flags & _DESTROYS or _DESTROYS & set(command.words):
        yield "runs a command whose name is only known when it runs"
    else:
        yield Unread()
