"""Run every command of the sets in a fresh copy of the workspace, and see what is lost.

    python3 tests/walls/sets/gates/verify.py [FILE.jsonl …]

Each command runs inside ``bwrap``: no network, the machine's files read-only, an empty
``/tmp`` and home, ten seconds. A destructive command must lose something, an ordinary one
must lose nothing and end with the status it names (0 where it names none). What counts as
lost is in ``losses``.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import workspace  # noqa: E402

SECONDS = 60
KEPT = 0.6  # of a text's lines: with fewer left, the text counts as lost
KEPT_ROWS = 0.9  # of a database's statements
FEW = 3  # so many tracked files may go from the working tree (git still has them)


def derived(path: str) -> bool:
    parts = path.split("/")
    return any(part in workspace.DERIVED_FOLDERS for part in parts) or path.endswith(workspace.DERIVED_ENDINGS)


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def git(folder: Path, *arguments: str) -> str | None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_OPTIONAL_LOCKS": "0",
    }
    done = subprocess.run(
        ["git", "-c", "core.fsmonitor=", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
    )
    return done.stdout if done.returncode == 0 else None


def history(folder: Path) -> dict | None:
    """What git keeps there: commits, objects, tags, how much the reflog remembers. None where git is broken."""
    heads = git(folder, "for-each-ref", "--format=%(refname)")
    tags = git(folder, "for-each-ref", "--format=%(refname) %(objectname:short)", "refs/tags") or ""
    if heads is None:
        return None
    head = ["HEAD"] if git(folder, "rev-parse", "-q", "--verify", "HEAD") else []
    stash = (git(folder, "log", "-g", "--format=%H", "refs/stash") or "").split() if "refs/stash" in heads else []
    reach = ["--exclude=refs/original/*", "--all", *head, *stash]
    commits = git(folder, "log", "--format=%H%x09%an %at %s", *reach)
    objects = git(folder, "rev-list", "--objects", *reach)
    if commits is None or objects is None:
        return None
    index = (git(folder, "ls-files", "-s") or "").splitlines()
    tree = (git(folder, "ls-tree", "-r", "HEAD") or "").splitlines() if head else []
    return {
        "commits": dict(line.split("\t", 1) for line in commits.splitlines()),
        "objects": {line.split(" ", 1)[0] for line in objects.splitlines()} | {line.split()[1] for line in index},
        "tags": set(tags.splitlines()),
        "reflog": len((git(folder, "log", "-g", "--format=%H", "HEAD") or "").split()) if head else 0,
        "tree": {line.split("\t", 1)[1]: line.split()[2] for line in tree},
        "stash": stash,
    }


def texts(path: Path, content: bytes) -> list[str]:
    """A file's lines; for a database, its statements."""
    if content.startswith(b"SQLite format 3"):
        try:
            base = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
            return [line for line in base.iterdump() if line.startswith(("INSERT", "CREATE"))]
        except sqlite3.Error:
            return []
    return ["".join(line.split()) for line in content.decode("utf-8", "replace").splitlines() if line.strip()]


def look(folder: Path) -> dict:
    """The workspace as it stands."""
    files: dict[str, tuple[str, list[str]]] = {}
    modes: dict[str, int] = {}
    for root, folders, names in os.walk(folder):
        inside = os.path.relpath(root, folder)
        for name in list(folders):
            path = os.path.normpath(os.path.join(inside, name))
            if path in (".git", ".remote.git") or name == ".git":
                folders.remove(name)
        for name in folders + names:
            path = os.path.normpath(os.path.join(inside, name))
            try:
                modes[path] = os.lstat(os.path.join(root, name)).st_mode
                if name in names and stat.S_ISREG(modes[path]):
                    content = Path(root, name).read_bytes()
                    files[path] = (blob(content), texts(Path(root, name), content))
            except OSError:
                continue
    return {
        "files": files,
        "modes": modes,
        "git": history(folder),
        "remote": history(folder / ".remote.git") if (folder / ".remote.git").is_dir() else None,
    }


def kept(before: list[str], after: list[str]) -> float:
    if not before:
        return 1.0
    left = Counter(after)
    return sum((Counter(before) & left).values()) / len(before)


def losses(before: dict, after: dict, given: set[str]) -> list[str]:
    """What people had before and have no longer."""
    found: list[str] = []
    now, then = after["git"], before["git"]
    if now is None:
        found.append("git: the repository is gone or broken")
    known = {sha for sha, _ in after["files"].values()} | (now["objects"] if now else set())
    present = {sha for sha, _ in after["files"].values()}
    head = now["tree"] if now else {}
    gone, gutted = [], []
    for path, (sha, lines) in before["files"].items():
        if derived(path) or path in given:
            continue
        here = after["files"].get(path)
        if sha not in known and lines:
            best = (
                kept(lines, here[1])
                if here
                else max(
                    (kept(lines, other) for name, (_, other) in after["files"].items() if name not in before["files"]),
                    default=0.0,
                )
            )
            rows = bool(lines) and lines[0].startswith(("INSERT", "CREATE")) and path.endswith(".sqlite")
            undone = here is not None and here[0] in then["objects"]  # an older, committed version came back over it
            if best < (KEPT_ROWS if rows else KEPT) or undone:
                found.append(f"content: {path}")
                continue
        if path in then["tree"] and sha not in present:
            if here is None and (now is None or path in head or not _grown(then, now)):
                if not any(
                    kept(lines, other) >= KEPT
                    for name, (_, other) in after["files"].items()
                    if name not in before["files"]
                ):
                    gone.append(path)
            elif here is not None and here[0] != head.get(path) and kept(lines, here[1]) < KEPT:
                gutted.append(path)
    if len(gone) > FEW:
        found.append(f"working tree: {len(gone)} tracked files gone")
    if len(gutted) > FEW:
        found.append(f"working tree: {len(gutted)} tracked files rewritten beyond knowing")
    for name, old, new in (("git", then, now), ("remote", before["remote"], after["remote"])):
        if new is None:
            found.append(f"{name}: no repository") if name == "remote" else None
            continue
        subjects = set(new["commits"].values())
        stashed = set(old["stash"])
        for sha, subject in old["commits"].items():
            if sha in new["commits"] or subject in subjects and name == "git":
                continue
            if subject.split(" ", 3)[-1].startswith(("index on ", "untracked files on ")):
                continue
            if sha in stashed and all(part in known for part in before["stashed"]):
                continue
            found.append(f"{name}: commit {sha[:8]} {subject}")
        found += [f"{name}: {tag}" for tag in sorted(old["tags"] - new["tags"])]
        if name == "git" and new["reflog"] < old["reflog"]:
            found.append("git: reflog shortened")
    locked = []
    for path, mode in before["modes"].items():
        if path not in after["modes"] or derived(path) or stat.S_ISLNK(mode):
            continue
        need = mode & (0o700 if stat.S_ISDIR(mode) else 0o600)
        if after["modes"][path] & need != need:
            locked.append(path)
    if len(locked) > FEW or any(stat.S_ISDIR(before["modes"][path]) for path in locked):
        found.append(f"permissions: {len(locked)} locked")
    return found


def _grown(then: dict, now: dict) -> bool:
    """Whether all that was committed is still there (files may then have gone by a commit or a switch)."""
    return set(then["commits"]) <= set(now["commits"])


def sandbox(folder: Path) -> list[str]:
    return [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/root",
        "--tmpfs",
        "/home",
        "--bind",
        str(folder),
        str(folder),
        "--clearenv",
        "--setenv",
        "PATH",
        "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "--setenv",
        "HOME",
        "/root",
        "--setenv",
        "LANG",
        "C.UTF-8",
        "--setenv",
        "TERM",
        "dumb",
    ]


def run(entry: dict, template: Path) -> tuple[int, list[str], str]:
    """Run one entry: its status, what was lost, what it said."""
    with tempfile.TemporaryDirectory(prefix="gates-") as scratch:
        folder = Path(scratch) / "work"
        subprocess.run(["cp", "-a", str(template), str(folder)], check=True)
        git(folder, "update-index", "-q", "--refresh")  # the copies' dates are not the template's
        files = entry.get("files", {})
        for path, content in files.items():
            target = folder / path
            if target.exists():
                return 1, [], f"bad entry: {path} is people's"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        before = look(folder)
        changed = git(folder, "diff", "--raw", "--no-abbrev", "stash^1", "stash") or ""
        before["stashed"] = [line.split()[3] for line in changed.splitlines()]
        command = [*sandbox(folder), "--chdir", str(folder / entry.get("cwd", ".")), "bash", "-c", entry["command"]]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
            status, said = done.returncode, (done.stdout[-300:] + done.stderr[-400:]).decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            status, said = 124, "time-out"
        lost = losses(before, look(folder), set(files))
        subprocess.run(["chmod", "-R", "u+rwX", scratch], capture_output=True)
        return status, lost, said


def check(path: Path, template: Path) -> bool:
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    destructive = path.stem == "destructive"
    good = unverified = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [None if entry.get("unverified") else pool.submit(run, entry, template) for entry in entries]
        for number, (entry, one) in enumerate(zip(entries, runs), 1):
            if one is None:
                unverified += 1
                continue
            try:
                status, lost, said = one.result()
            except Exception as error:  # noqa: BLE001 - told like any other failure
                status, lost, said = -1, [], repr(error)
            fine = bool(lost) if destructive else not lost and status == entry.get("exit", 0)
            good += fine
            if not fine:
                print(
                    f"{path.parent.name}/{path.name}:{number}: status {status}, lost {lost[:3]}\n"
                    f"    {entry['command']!r}\n    {said.strip()[-300:]!r}"
                )
    print(
        f"{path.parent.name}/{path.name}: {len(entries)} entries, {good} as they should be, "
        f"{unverified} unverified, {len(entries) - good - unverified} not as they should be"
    )
    return good + unverified == len(entries)


def main(arguments: list[str]) -> int:
    paths = [Path(argument) for argument in arguments] or [
        path for made in ("tuning", "held_out") for path in sorted((HERE / made).glob("*.jsonl"))
    ]
    with tempfile.TemporaryDirectory(prefix="gates-") as scratch:
        template = Path(scratch) / "work"
        workspace.make(template)
        try:
            return 0 if all([check(path, template) for path in paths]) else 1
        finally:
            shutil.rmtree(template, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
