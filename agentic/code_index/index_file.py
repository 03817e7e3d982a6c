"""What is known of the code of one workspace: an SQLite file with its files, their chunks, the words in these, and what
they mean.

All of it is made from the workspace and can be made again, so there is no migration and no repair: a file of another
version, with other grammars, for another model of meaning, or one that is damaged, is deleted and filled anew.  The text
itself is not kept, only its words with their places (FTS5 without content); of a chunk that is to be embedded its beginning
is, until it was.

Vectors are kept by the text that they stand for, so a chunk that only moved, or whose file was renamed, keeps its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import apsw

from agentic.code_index.chunks import Chunk
from agentic.code_index.code_words import inner_words, split_names
from agentic.code_index.grammars import not_installed
from agentic.ports.errors import StoreCorrupt
from agentic.stores.sqlite.file.connection import Connection, connect
from agentic.stores.sqlite.file.sqlite_errors import plainly

VERSION = 1
"""Raised whenever files are cut, or words kept, differently than before."""
MEANT_CHARACTERS, TAKEN_CHARACTERS = 500, 2_000
"""Of a chunk, after its names and without its indentation: about 130 tokens, which take a processor 40 ms."""
BUSY_MILLISECONDS = 5_000
MOST_EMBEDDED = 5_000
"""Chunks with a vector in one index: they are compared one by one."""
_WEIGHTS = "20.0, 4.0, 4.0, 1.0, 1.0"
"""Of a word among the names that a chunk defines, of what it is a part, in its path, in its text, inside of names there."""
_SCHEMA = """
    CREATE TABLE about (made TEXT NOT NULL);
    CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, sha TEXT NOT NULL,
        is_binary INTEGER NOT NULL);
    CREATE TABLE chunks (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        names TEXT NOT NULL, meaning BLOB);
    CREATE INDEX chunks_of_a_file ON chunks (file);
    CREATE INDEX chunks_by_meaning ON chunks (meaning);
    CREATE TABLE meanings (digest BLOB PRIMARY KEY, text TEXT, vector BLOB) WITHOUT ROWID;
    CREATE VIRTUAL TABLE words USING fts5(names, within, path, body, inner, content='', contentless_delete=1,
        tokenize='porter unicode61 remove_diacritics 2');
"""
_HERE = "(:path = '' OR files.path = :path OR substr(files.path, 1, length(:path) + 1) = :path || '/')"
_BY_WORDS = f"""
    SELECT words.rowid, -bm25(words, {_WEIGHTS}) AS fit FROM words
    JOIN chunks ON chunks.id = words.rowid JOIN files ON files.id = chunks.file
    WHERE words MATCH :words AND {_HERE} ORDER BY fit DESC LIMIT :most
"""
_VECTORS = f"""
    SELECT chunks.id, meanings.vector FROM meanings JOIN chunks ON chunks.meaning = meanings.digest
    JOIN files ON files.id = chunks.file WHERE meanings.vector IS NOT NULL AND {_HERE}
"""
_PLACES = """
    SELECT chunks.id, files.path, chunks.first, chunks.last, chunks.names, files.sha
    FROM chunks JOIN files ON files.id = chunks.file WHERE chunks.id IN (SELECT value FROM json_each(?))
"""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was taken in."""

    id: int
    stamp: str
    sha: str
    is_binary: bool


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """Where a chunk stands; ``sha`` is that of its whole file."""

    path: str
    first: int
    last: int
    names: str
    sha: str


@dataclass(frozen=True, slots=True)
class Unembedded:
    """The beginning of a chunk whose vector is not known yet."""

    digest: bytes
    text: str


class IndexFile:
    """One open file; all of it raises ``StoreError``, and ``StoreCorrupt`` where it has to be made anew."""

    def __init__(self, connection: Connection, *, embeds: bool) -> None:
        self._connection = connection
        self._embeds = embeds

    def close(self) -> None:
        """Let go of it."""
        with suppress(Exception):  # whatever is wrong with a file that can be made again
            self._connection.close(force=True)

    def known(self) -> dict[str, KnownFile]:
        """All files that were taken in, by their paths."""
        with plainly():
            rows = self._connection.execute("SELECT path, id, stamp, sha, is_binary FROM files")
            return {
                cast(str, path): KnownFile(cast(int, id), cast(str, stamp), cast(str, sha), bool(binary))
                for path, id, stamp, sha, binary in rows
            }

    def begin(self) -> None:
        """What follows is kept with ``commit``, or not at all."""
        with plainly():
            self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep it."""
        with plainly():
            self._connection.execute("COMMIT")

    def touch(self, file: KnownFile, stamp: str) -> None:
        """The same content has other times."""
        with plainly():
            self._connection.execute("UPDATE files SET stamp = ? WHERE id = ?", (stamp, file.id))

    def drop(self, file: KnownFile) -> None:
        """Forget a file."""
        with plainly():
            for statement in (
                "DELETE FROM words WHERE rowid IN (SELECT id FROM chunks WHERE file = ?)",
                "DELETE FROM chunks WHERE file = ?",
                "DELETE FROM files WHERE id = ?",
            ):
                self._connection.execute(statement, (file.id,))

    def put(self, path: str, stamp: str, sha: str, text: str | None, chunks: Sequence[Chunk]) -> None:
        """Take a file in that is not known; ``text`` None where it is binary."""
        with plainly():
            row = (path, stamp, sha, text is None)
            self._connection.execute("INSERT INTO files (path, stamp, sha, is_binary) VALUES (?, ?, ?, ?)", row)
            file = self._connection.last_insert_rowid()
            lines = (text or "").split("\n")
            words_of_path = split_names((path,))
            for chunk in chunks:
                self._put(file, words_of_path, chunk, "\n".join(lines[chunk.first - 1 : chunk.last]))

    def _put(self, file: int, path: str, chunk: Chunk, body: str) -> None:
        names, within = split_names(chunk.names), split_names(chunk.within)
        meaning = self._meaning(f"{within} {names}\n{_meant(body)}") if self._embeds else None
        shown = " > ".join((*chunk.within[-2:], ", ".join(chunk.names[:6])) if chunk.names else chunk.within[-2:])
        self._connection.execute(
            "INSERT INTO chunks (file, first, last, names, meaning) VALUES (?, ?, ?, ?, ?)",
            (file, chunk.first, chunk.last, shown, meaning),
        )
        self._connection.execute(
            "INSERT INTO words (rowid, names, within, path, body, inner) VALUES (?, ?, ?, ?, ?, ?)",
            (self._connection.last_insert_rowid(), names, within, path, body, inner_words(body)),
        )

    def _meaning(self, text: str) -> bytes:
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        insert = "INSERT INTO meanings (digest, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
        self._connection.execute(insert, (digest, text))
        return digest

    def tidy(self) -> None:
        """Forget what is meant by no chunk any more."""
        with plainly():
            unmeant = "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.meaning = meanings.digest)"
            self._connection.execute(f"DELETE FROM meanings WHERE {unmeant}")

    def by_words(self, words: Iterable[str], path: str, most: int) -> dict[int, float]:
        """The chunks below a path that have any of the words, with how well they fit, best first."""
        asked = " OR ".join(f'"{word}"' for word in words)  # letters, digits and _ alone; with _ it is a phrase
        if not asked:
            return {}
        with plainly():
            rows = self._connection.execute(_BY_WORDS, {"words": asked, "path": path, "most": most})
            return {cast(int, id): cast(float, fit) for id, fit in rows}

    def vectors(self, path: str) -> list[tuple[int, bytes]]:
        """The chunks below a path whose vectors are known."""
        with plainly():
            return [
                (cast(int, id), cast(bytes, vector))
                for id, vector in self._connection.execute(_VECTORS, {"path": path})
            ]

    def unembedded(self, most: int, of: Sequence[int] | None = None) -> list[Unembedded]:
        """Chunks without a vector, of these or of all; none where as many have one as may."""
        with plainly():
            chosen = "SELECT meaning FROM chunks WHERE id IN (SELECT value FROM json_each(:of))"
            among = "" if of is None else f"AND digest IN ({chosen})"
            rows = self._connection.execute(
                f"SELECT digest, text FROM meanings WHERE vector IS NULL {among} LIMIT "
                "min(:most, max(0, :all - (SELECT count(*) FROM meanings WHERE vector IS NOT NULL)))",
                {"most": most, "all": MOST_EMBEDDED, "of": str(list(of or ()))},
            )
            return [Unembedded(cast(bytes, digest), cast(str, text)) for digest, text in rows]

    def keep_vectors(self, vectors: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep the vectors by their digests; those that nobody means any more are left."""
        with plainly():
            self._connection.execute("BEGIN IMMEDIATE")
            for digest, vector in vectors:
                self._connection.execute(
                    "UPDATE meanings SET vector = ?, text = NULL WHERE digest = ?", (vector, digest)
                )
            self._connection.execute("COMMIT")

    def places(self, ids: Sequence[int]) -> list[ChunkPlace]:
        """Where these chunks stand, in this order."""
        with plainly():
            rows = {cast(int, id): rest for id, *rest in self._connection.execute(_PLACES, (str(list(ids)),))}
        return [ChunkPlace(*cast("tuple[str, int, int, str, str]", tuple(rows[id]))) for id in ids if id in rows]

    def embedded_share(self) -> tuple[int, int]:
        """How many chunks' meanings are known, and of how many."""
        with plainly():
            row = self._connection.execute("SELECT count(vector), count(*) FROM meanings").fetchone()
        return cast("tuple[int, int]", row or (0, 0))


def _meant(body: str) -> str:
    return " ".join(body[:TAKEN_CHARACTERS].split())[:MEANT_CHARACTERS]


def open_index(path: Path, embedder: str) -> IndexFile:
    """The index in this file, an empty one where there was none that can be used; raises ``StoreError``."""
    made = " ".join((str(VERSION), embedder, *not_installed()))  # with more grammars files are cut in another way
    try:
        return _opened(path, made, embeds=bool(embedder))
    except StoreCorrupt:
        delete_index(path)
        return _opened(path, made, embeds=bool(embedder))


def delete_index(path: Path) -> None:
    """Delete an index with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _opened(path: Path, made: str, *, embeds: bool) -> IndexFile:
    with plainly():
        connection = connect(str(path))
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # a search waits for no disk
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").get:
                connection.execute(_SCHEMA)
                connection.execute("INSERT INTO about VALUES (?)", (made,))
            elif connection.execute("SELECT made FROM about").get != made:
                raise StoreCorrupt(
                    "it was made by another version, with other grammars, or for another model of meaning"
                )
            connection.execute("COMMIT")
        except BaseException:
            connection.close(force=True)
            raise
    return IndexFile(connection, embeds=embeds)
