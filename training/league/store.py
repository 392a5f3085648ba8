"""The league's file: SQLite in WAL mode, so that a killed run loses no match that ended.

Several runners on one machine may share it. A match is claimed before it is played; the claim of a
process that is gone counts for nothing, so its matches are played by whoever comes next. Should two
play the same one, the first result stays.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...envs.errors import InputError
from ...envs.files import canonical
from .schedule import Setup, make_setup

_APPLICATION = 0x77616772  # "wagr": what tells this file from another SQLite file
_VERSION = 1
_PATIENCE = 60.0  # seconds to wait for another runner's write

_TABLES = """
CREATE TABLE setup (content TEXT NOT NULL);
CREATE TABLE matches (
    number INTEGER PRIMARY KEY,
    host TEXT,
    process INTEGER,
    started REAL,
    result TEXT
);
"""


class Store:
    """A league's file, opened.

    Args:
        path: the file.
        setup: the league, of a file that does not exist yet; None opens one that does.

    Raises:
        InputError: if the file is missing, cannot be read or written, is no league's, or holds
            another league than ``setup``.
    """

    def __init__(self, path: str | os.PathLike[str], setup: Setup | None = None) -> None:
        self.path = Path(path)
        if setup is None and not self.path.is_file():
            raise InputError(f"no league at {self.path}")
        with self._said():
            self._db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._open(setup)
            except BaseException:
                self._db.execute("ROLLBACK")
                self._db.close()
                raise
            self._db.execute("COMMIT")
            self._db.execute("PRAGMA journal_mode = WAL")
            (content,) = self._db.execute("SELECT content FROM setup").fetchone()
        kept = json.loads(content)
        self.setup = make_setup(**kept)
        if setup is not None and setup != self.setup:
            changed = [name for name, value in setup.to_json().items() if value != kept[name]]
            self._db.close()
            raise InputError(
                f"{self.path} holds another league: its {changed[0]} is {kept[changed[0]]!r}"
            )

    def _open(self, setup: Setup | None) -> None:
        """Check what the file is; make it a league's if it is new."""
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables and not application and setup is not None:
            for statement in _TABLES.split(";")[:-1]:
                self._db.execute(statement)
            self._db.execute("INSERT INTO setup VALUES (?)", (canonical(setup.to_json()),))
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {_VERSION}")
        elif application != _APPLICATION:
            raise InputError(f"{self.path} is not a league's file")
        elif version != _VERSION:
            raise InputError(f"{self.path} has version {version}; this wager reads {_VERSION}")

    def close(self) -> None:
        """Close the file; it stays whole without."""
        self._db.close()

    def claim(self, numbers: Sequence[int], most: int) -> list[int]:
        """Up to ``most`` of ``numbers`` that have no result and that no live process plays."""
        host, process = socket.gethostname(), os.getpid()
        claimed: list[int] = []
        with self._said():
            self._db.execute("BEGIN IMMEDIATE")
            taken = {
                number: (result, where, who)
                for number, result, where, who in self._db.execute(
                    "SELECT number, result IS NOT NULL, host, process FROM matches"
                )
            }
            for number in numbers:
                if len(claimed) == most:
                    break
                done, where, who = taken.get(number, (0, None, None))
                if not done and not (who is not None and _alive(where, who)):
                    claimed.append(number)
            self._db.executemany(
                "INSERT OR REPLACE INTO matches VALUES (?, ?, ?, ?, NULL)",
                [(number, host, process, time.time()) for number in claimed],
            )
            self._db.execute("COMMIT")
        return claimed

    def keep(self, number: int, result: dict[str, Any]) -> None:
        """Keep the result of a match; the first one stays."""
        with self._said():
            self._db.execute(
                "UPDATE matches SET result = ?, host = NULL, process = NULL"
                " WHERE number = ? AND result IS NULL",
                (canonical(result), number),
            )

    def release(self) -> None:
        """Give back what this process claimed and did not end."""
        with self._said():
            self._db.execute(
                "DELETE FROM matches WHERE result IS NULL AND host = ? AND process = ?",
                (socket.gethostname(), os.getpid()),
            )

    def played(self) -> set[int]:
        """The numbers of the matches that have a result."""
        with self._said():
            rows = self._db.execute("SELECT number FROM matches WHERE result IS NOT NULL")
            return {number for (number,) in rows}

    def count(self) -> int:
        """How many matches have a result."""
        with self._said():
            (count,) = self._db.execute(
                "SELECT count(*) FROM matches WHERE result IS NOT NULL"
            ).fetchone()
        return int(count)

    def results(self) -> dict[int, dict[str, Any]]:
        """What is played, by number."""
        with self._said():
            rows = self._db.execute(
                "SELECT number, result FROM matches WHERE result IS NOT NULL ORDER BY number"
            ).fetchall()
        return {number: json.loads(result) for number, result in rows}

    @contextmanager
    def _said(self) -> Iterator[None]:
        """What SQLite finds wrong, in one line."""
        try:
            yield
        except sqlite3.Error as error:
            if getattr(self, "_db", None) is not None and self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise InputError(f"league {self.path}: {error}") from None


def _alive(host: str, process: int) -> bool:
    """Whether the process of a claim still runs; of another machine, assume so."""
    if host != socket.gethostname():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
