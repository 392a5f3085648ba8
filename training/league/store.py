"""The league's file: SQLite in WAL mode, so that a killed run loses no match that ended.

Several runners on one machine may share it. A match is claimed before it is played. Each runner
holds a lock of the operating system for as long as it lives, so the claims of one that is gone are
known by that, and its matches are played by whoever comes next. Should two play the same one, the
first result stays.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ...envs.errors import InputError
from ...envs.files import canonical
from .schedule import Setup, read_setup

_APPLICATION = 0x77616772  # "wagr": what tells this file from another SQLite file
_VERSION = 2
_PATIENCE = 60.0  # seconds to wait for another runner's write

_TABLES = """
CREATE TABLE setup (content TEXT NOT NULL);
CREATE TABLE claims (number INTEGER PRIMARY KEY, runner INTEGER NOT NULL);
CREATE TABLE results (number INTEGER PRIMARY KEY, content TEXT NOT NULL);
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
        self._place: tuple[int, sqlite3.Connection] | None = None  # among the runners
        if setup is None and not self.path.is_file():
            raise InputError(f"no league at {self.path}")
        with self._said():
            self._db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            try:
                self._db.execute("PRAGMA synchronous = FULL")
                with self._writing():
                    self.setup = self._open(setup)
                self._log_ahead()
            except BaseException:
                self._db.close()
                raise
        if setup is not None and (changed := _difference(self.setup, setup)):
            self._db.close()
            raise InputError(f"{self.path} holds another league: {changed}")

    def _open(self, setup: Setup | None) -> Setup:
        """Check what the file is, make it a league's if it is new; the setup in it."""
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables and not application and setup is not None:
            for statement in _TABLES.split(";")[:-1]:
                self._db.execute(statement)
            self._db.execute("INSERT INTO setup VALUES (?)", (canonical(setup.to_json()),))
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {_VERSION}")
            return setup
        if application != _APPLICATION:
            raise InputError(f"{self.path} is not a league's file")
        if version != _VERSION:
            raise InputError(f"{self.path} has version {version}; this wager reads {_VERSION}")
        try:
            (content,) = self._db.execute("SELECT content FROM setup").fetchone()
            return read_setup(json.loads(content))
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{self.path} is damaged: its setup cannot be read") from None

    def _log_ahead(self) -> None:
        """Switch to WAL. For another runner's write SQLite itself does not wait here."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def close(self) -> None:
        """Give back what is claimed, and close the file; it stays whole without."""
        try:
            self.release()
        finally:
            self._db.close()

    def claim(self, numbers: Iterable[int], most: int) -> list[int]:
        """The first ``most`` of ``numbers`` that have no result and that no live runner plays.

        An iterator is read no further than that.
        """
        claimed: list[int] = []
        with self._said(), self._writing():
            own = self._own_place()
            for number in numbers:
                if self._free(number):
                    self._db.execute("INSERT INTO claims VALUES (?, ?)", (number, own))
                    claimed.append(number)
                    if len(claimed) == most:
                        break
        return claimed

    def _free(self, number: int) -> bool:
        """Whether a match is to be had; claims of a runner that is gone are dropped."""
        query = "SELECT 1 FROM results WHERE number = ?"
        if self._db.execute(query, (number,)).fetchone() is not None:
            return False
        row = self._db.execute("SELECT runner FROM claims WHERE number = ?", (number,)).fetchone()
        if row is None:
            return True
        lock = None if row[0] == self._own_place() else _lock(self._lock_file(row[0]))
        if lock is None:
            return False
        lock.close()
        self._db.execute("DELETE FROM claims WHERE runner = ?", row)
        return True

    def _own_place(self) -> int:
        """The least number that no live runner has, from now on this one's.

        Places are taken and given back inside of writes alone, so by one runner at a time.
        """
        if self._place is None:
            locks = ((place, _lock(self._lock_file(place))) for place in count())
            place, lock = next((place, lock) for place, lock in locks if lock is not None)
            self._place = (place, lock)
            self._db.execute("DELETE FROM claims WHERE runner = ?", (place,))  # of one that is gone
        return self._place[0]

    def _lock_file(self, place: int) -> Path:
        return self.path.with_name(f"{self.path.name}-runner{place}")

    def keep(self, number: int, result: dict[str, Any]) -> None:
        """Keep the result of a match; the first one stays."""
        with self._said(), self._writing():
            row = (number, canonical(result))
            self._db.execute("INSERT OR IGNORE INTO results VALUES (?, ?)", row)
            self._db.execute("DELETE FROM claims WHERE number = ?", (number,))

    def release(self) -> None:
        """Give back what this runner claimed and did not end."""
        if self._place is None:
            return
        place, lock = self._place
        try:
            with self._said(), self._writing():
                self._db.execute("DELETE FROM claims WHERE runner = ?", (place,))
                self._lock_file(place).unlink(missing_ok=True)
        finally:
            lock.close()
            self._place = None

    def played(self) -> set[int]:
        """The numbers of the matches that have a result."""
        with self._said():
            return {number for (number,) in self._db.execute("SELECT number FROM results")}

    def count(self) -> int:
        """How many matches have a result."""
        with self._said():
            (rows,) = self._db.execute("SELECT count(*) FROM results").fetchone()
        return int(rows)

    def results(self) -> dict[int, dict[str, Any]]:
        """What is played, by number."""
        with self._said():
            rows = self._db.execute("SELECT * FROM results ORDER BY number").fetchall()
        try:
            return {number: json.loads(content) for number, content in rows}
        except ValueError:
            raise InputError(f"{self.path} is damaged: a result cannot be read") from None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that no other runner's overlaps: all of it is done or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk may have ended it
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _said(self) -> Iterator[None]:
        """What SQLite finds wrong, in one line."""
        try:
            yield
        except sqlite3.Error as error:
            code = (
                getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            )  # the rest is detail
            writable = code not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            advice = "" if writable else "; a league's file and its folder must be writable"
            raise InputError(f"league {self.path}: {error}{advice}") from None


def _lock(path: Path) -> sqlite3.Connection | None:
    """The lock of a file, held until the connection closes or its process ends; None if taken."""
    lock = sqlite3.connect(path, timeout=0.0, isolation_level=None)
    try:
        lock.execute("PRAGMA journal_mode = MEMORY")  # no second file beside it
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return None
    return lock


def _difference(kept: Setup, given: Setup) -> str:
    """In what the league of the file is another one than what was asked for; empty if in nothing.

    Models and the version of wager are of no matter until matches are played.
    """
    for name in ("agents", "tables", "matches", "seed", "schedule"):
        has, asked = (
            ",".join(value) if isinstance(value := getattr(one, name), tuple) else str(value)
            for one in (kept, given)
        )
        if has != asked:
            return f"its {name}: {has}, not {asked}; name another file with --db"
    return ""
