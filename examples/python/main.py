"""The plants of a Plant Store in a SQLite file, exactly once each. See README.md."""

import argparse
import base64
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from follow import follow
from own_store import OwnStore
from record import Claim, Foreign, Unreadable, read_record

STORE = Path(__file__).resolve().parents[2] / ".local" / "examples" / "python.sqlite"


def main() -> None:
    options = read_options()
    if options.command == "corpus":
        for result in read_corpus(options.file):
            print(json.dumps(result))
        return
    store = OwnStore(options.store)
    if options.command == "dump":
        with options.file.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(plant)}\n" for plant in store.plants())
    if options.command == "follow":
        follow(options.brokers, options.topic, store, options.until_end)
    print(json.dumps(store.counts()))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=STORE, help="the SQLite file")
    commands = parser.add_subparsers(dest="command", required=True)
    follow_command = commands.add_parser("follow", help="read the topic, then wait for new events")
    follow_command.add_argument("--brokers", default=os.environ.get("KAFKA_BROKERS") or "localhost:19092")
    follow_command.add_argument("--topic", default=os.environ.get("PLANTS_TOPIC") or "plants")
    follow_command.add_argument("--until-end", action="store_true", help="exit at the end of the topic")
    commands.add_parser("dump", help="write all plants to a file, as JSON Lines").add_argument("file", type=Path)
    commands.add_parser("counts", help="count plants and all other kinds of records")
    commands.add_parser("corpus", help="print the result for each line of docs/corpus").add_argument("file", type=Path)
    return parser.parse_args()


def read_corpus(file: Path) -> Iterator[dict[str, object]]:
    """The result for each line of the corpus, in its format."""
    store = OwnStore(Path(":memory:"))
    # Iterates over the file: str.splitlines would also split at U+2028 inside a name.
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            stored = json.loads(line)
            headers = [(name, decoded(value)) for name, value in stored["headers"]]
            key, value = decoded(stored["key"]), decoded(stored["value"])
            record = read_record(key, value, headers, stored["partition"], stored["partitions"])
            ruling = store.take(record)
            yield {"read": classification(record), **({} if ruling == "foreign" else {"ruling": ruling})}


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def classification(record: Claim | Foreign) -> dict[str, object]:
    if isinstance(record, Foreign):
        return {"is": "foreign", **asdict(record)}
    kind = "unreadable" if isinstance(record.says, Unreadable) else "readable"
    says = {name: value for name, value in asdict(record.says).items() if value is not None}
    return {"is": kind, "id": str(record.id), "eventId": record.event_id, **says}


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
