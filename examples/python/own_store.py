"""What this consumer keeps, in SQLite: the plants, and how far it has read, always moved in one transaction."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from record import Claim, Foreign

SCHEMA = """
CREATE TABLE IF NOT EXISTS log (topic TEXT NOT NULL, topic_id TEXT NOT NULL, partitions INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS position (partition INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS plant (
  id INTEGER PRIMARY KEY,  -- a full int64 in SQLite
  event_id TEXT NOT NULL,
  readable INTEGER NOT NULL,
  name TEXT,
  tag TEXT
);
CREATE TABLE IF NOT EXISTS counted (what TEXT PRIMARY KEY, count INTEGER NOT NULL);
"""


class OwnStore:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without an isolation level this module begins no transaction of its own.
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executescript(SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    def begin_log(self, topic: str, topic_id: str, partitions: int) -> None:
        """Refuses to go on with what was read of another log. A topic that is made anew has another id."""
        with self.transaction():
            known = self.db.execute("SELECT topic, topic_id, partitions FROM log").fetchone()
            if known is None:
                self.db.execute("INSERT INTO log VALUES (?, ?, ?)", (topic, topic_id, partitions))
            elif known != (topic, topic_id, partitions):
                raise SystemExit(
                    f"This store was filled from topic {known[0]} ({known[1]}, {known[2]} partitions), and Kafka has "
                    f"{topic} ({topic_id}, {partitions} partitions): delete the store's file to begin anew."
                )

    def positions(self) -> dict[int, int]:
        """The offset to read next in each partition that was read."""
        return dict(self.db.execute("SELECT partition, next_offset FROM position"))

    def move(self, partition: int, next_offset: int) -> None:
        self.db.execute("INSERT OR REPLACE INTO position VALUES (?, ?)", (partition, next_offset))

    def take(self, record: Claim | Foreign) -> None:
        """The rule: the first claim of an id wins."""
        if isinstance(record, Foreign):
            return self.count("foreign")
        readable, plant = record.plant is not None, record.plant
        inserted = self.db.execute(
            "INSERT INTO plant VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (record.id, record.event_id, readable, plant and plant.name, plant and plant.tag),
        )
        if inserted.rowcount == 1:
            return None
        (first,) = self.db.execute("SELECT event_id FROM plant WHERE id = ?", (record.id,)).fetchone()
        return self.count("repeated" if first == record.event_id else "voids")

    def count(self, what: str) -> None:
        self.db.execute(
            "INSERT INTO counted VALUES (?, 1) ON CONFLICT (what) DO UPDATE SET count = count + 1", (what,)
        )

    def counts(self) -> dict[str, int]:
        counted = dict.fromkeys(("plants", "unreadable", "voids", "repeated", "foreign"), 0)
        counted |= dict(self.db.execute("SELECT what, count FROM counted"))
        for readable, count in self.db.execute("SELECT readable, count(*) FROM plant GROUP BY readable"):
            counted["plants" if readable else "unreadable"] = count
        return counted

    def plants(self) -> Iterator[dict[str, object]]:
        """In the order of ids. The id as text: many readers of JSON lose digits of an int64."""
        for id_, readable, name, tag in self.db.execute("SELECT id, readable, name, tag FROM plant ORDER BY id"):
            told = {"name": name, "tag": tag} if readable else {"unreadable": True}
            yield {"id": str(id_), **{key: value for key, value in told.items() if value is not None}}
