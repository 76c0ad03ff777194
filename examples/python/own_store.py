"""The store, in SQLite: plants and positions, always changed in one transaction."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from record import Claim, Foreign

SCHEMA = """
PRAGMA journal_mode = WAL;
-- A power failure may undo the last transactions, plants and position together: they are read again.
PRAGMA synchronous = NORMAL;
-- The last record that was taken in, or -1, and its event id: by it the log is known again.
CREATE TABLE IF NOT EXISTS position (partition INTEGER PRIMARY KEY, offset INTEGER NOT NULL, event_id BLOB);
-- The id is a full int64 in SQLite. An unreadable claim has no name.
CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, event_id TEXT NOT NULL, name TEXT, tag TEXT);
CREATE TABLE IF NOT EXISTS counted (ruling TEXT PRIMARY KEY, count INTEGER NOT NULL);
"""


class OwnStore:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        # Without an isolation level, the module starts no transactions itself.
        self.db = sqlite3.connect(path, isolation_level=None)
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

    def positions(self, partitions: int) -> list[tuple[int, int, bytes | None]]:
        """Partition, offset and event id of the last record that was taken in, of each partition."""
        with self.transaction():
            (known,) = self.db.execute("SELECT count(*) FROM position").fetchone()
            if known not in (0, partitions):
                raise SystemExit(f"Ids have moved: the log has {partitions} partitions, and {self.path} knows {known}.")
            unread = [(partition,) for partition in range(partitions)]
            self.db.executemany("INSERT OR IGNORE INTO position VALUES (?, -1, NULL)", unread)
        return self.db.execute("SELECT partition, offset, event_id FROM position").fetchall()

    def take_at(self, partition: int, offset: int, event_id: bytes | None, record: Claim | Foreign) -> None:
        """Takes in a record, unless another process has done so meanwhile."""
        update = "UPDATE position SET offset = ?, event_id = ? WHERE partition = ? AND offset < ?"
        if self.db.execute(update, (offset, event_id, partition, offset)).rowcount == 1:
            self.take(record)

    def take(self, record: Claim | Foreign) -> str:
        """Returns the ruling."""
        ruling = "foreign" if isinstance(record, Foreign) else self.rule(record)
        count = "INSERT INTO counted VALUES (?, 1) ON CONFLICT (ruling) DO UPDATE SET count = count + 1"
        self.db.execute(count, (ruling,))
        return ruling

    def rule(self, claim: Claim) -> str:
        """The rule: the first claim of an id wins."""
        plant = (claim.id, claim.event_id, claim.name, claim.tag)
        inserted = self.db.execute("INSERT OR IGNORE INTO plants VALUES (?, ?, ?, ?)", plant)
        if inserted.rowcount == 1:
            return "created"
        (first,) = self.db.execute("SELECT event_id FROM plants WHERE id = ?", (claim.id,)).fetchone()
        return "repeated" if first == claim.event_id else "void"

    def counts(self) -> dict[str, int]:
        claims, plants = self.db.execute("SELECT count(*), count(name) FROM plants").fetchone()
        counted = dict(self.db.execute("SELECT ruling, count FROM counted"))
        return {
            "plants": plants,
            "unreadable": claims - plants,
            "voids": counted.get("void", 0),
            "repeated": counted.get("repeated", 0),
            "foreign": counted.get("foreign", 0),
        }

    def plants(self) -> Iterator[dict[str, object]]:
        """Sorted by id. The id is text, because many JSON readers round an int64."""
        for id_, name, tag in self.db.execute("SELECT id, name, tag FROM plants ORDER BY id"):
            fields = {"id": str(id_), "name": name, "tag": tag, "unreadable": True if name is None else None}
            yield {field: value for field, value in fields.items() if value is not None}
