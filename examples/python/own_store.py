"""The store, in SQLite: plants and positions, always changed in one transaction."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from record import Claim, Foreign, Plant

SCHEMA = """
CREATE TABLE IF NOT EXISTS log (topic TEXT NOT NULL, partitions INTEGER NOT NULL);
-- The last record that was taken in, and its event id: by it the log is known again.
CREATE TABLE IF NOT EXISTS position (partition INTEGER PRIMARY KEY, offset INTEGER NOT NULL, event_id BLOB);
CREATE TABLE IF NOT EXISTS plants (
  id INTEGER PRIMARY KEY,  -- a full int64 in SQLite
  event_id TEXT NOT NULL,
  readable INTEGER NOT NULL,
  name TEXT,
  tag TEXT
);
CREATE TABLE IF NOT EXISTS counted (what TEXT PRIMARY KEY, count INTEGER NOT NULL);
"""


class Position(NamedTuple):
    offset: int
    event_id: bytes | None


class OwnStore:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # Without an isolation level, the module starts no transactions itself.
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        # A power failure may undo the last transactions, plants and position together: they are read again.
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.executescript(SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.db:  # Commits at its end, or rolls back after an error.
            try:
                self.db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                raise SystemExit("Another process has locked this store: one at a time.") from error
            yield

    def begin_log(self, topic: str, partitions: int) -> None:
        """Raises an error for another topic or partition count than before."""
        with self.transaction():
            known = self.db.execute("SELECT topic, partitions FROM log").fetchone()
            if known is None:
                self.db.execute("INSERT INTO log VALUES (?, ?)", (topic, partitions))
            elif known != (topic, partitions):
                raise SystemExit(
                    f"This store was filled from topic {known[0]} with {known[1]} partitions, and this is {topic} with "
                    f"{partitions}: its file can't be used for it. Delete {self.path}* to start again."
                )

    def positions(self) -> dict[int, Position]:
        rows = self.db.execute("SELECT partition, offset, event_id FROM position")
        return {partition: Position(offset, event_id) for partition, offset, event_id in rows}

    def move(self, partition: int, before: Position | None, now: Position) -> None:
        """Moves only from the old position, so a second process, or one that was paused, applies nothing twice."""
        moved = self.db.execute(
            "INSERT INTO position VALUES (?, ?, ?) ON CONFLICT (partition) DO UPDATE"
            " SET offset = excluded.offset, event_id = excluded.event_id WHERE position.offset = ?",
            (partition, *now, before and before.offset),
        )
        if moved.rowcount != 1:
            raise SystemExit(f"Another process has moved partition {partition} in this store: one at a time.")

    def take(self, record: Claim | Foreign) -> str:
        """The rule: the first claim of an id wins. Returns the ruling."""
        ruling = "foreign" if isinstance(record, Foreign) else self.rule(record)
        if ruling != "created":
            self.db.execute(
                "INSERT INTO counted VALUES (?, 1) ON CONFLICT (what) DO UPDATE SET count = count + 1", (ruling,)
            )
        return ruling

    def rule(self, claim: Claim) -> str:
        plant = claim.says if isinstance(claim.says, Plant) else None
        inserted = self.db.execute(
            "INSERT INTO plants VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (claim.id, claim.event_id, plant is not None, plant and plant.name, plant and plant.tag),
        )
        if inserted.rowcount == 1:
            return "created"
        (first,) = self.db.execute("SELECT event_id FROM plants WHERE id = ?", (claim.id,)).fetchone()
        return "repeated" if first == claim.event_id else "void"

    def counts(self) -> dict[str, int]:
        counted = dict(self.db.execute("SELECT what, count FROM counted"))
        plants = dict(self.db.execute("SELECT readable, count(*) FROM plants GROUP BY readable"))
        return {
            "plants": plants.get(1, 0),
            "unreadable": plants.get(0, 0),
            "voids": counted.get("void", 0),
            "repeated": counted.get("repeated", 0),
            "foreign": counted.get("foreign", 0),
        }

    def plants(self) -> Iterator[dict[str, object]]:
        """Sorted by id. The id is text, because many JSON readers round an int64."""
        for id_, readable, name, tag in self.db.execute("SELECT id, readable, name, tag FROM plants ORDER BY id"):
            content = {"name": name, "tag": tag} if readable else {"unreadable": True}
            yield {"id": str(id_), **{key: value for key, value in content.items() if value is not None}}
