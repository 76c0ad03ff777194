"""The plants of a Plant Store in a SQLite file, exactly once each. See README.md."""

import argparse
import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from follow import follow
from own_store import OwnStore
from record import Foreign, read_record

STORE = Path(__file__).resolve().parents[2] / ".local" / "examples" / "python.sqlite"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=STORE, help="the SQLite file")
    commands = parser.add_subparsers(dest="command", required=True)
    follow_command = commands.add_parser("follow", help="read the topic, then wait for new events")
    follow_command.add_argument("--until-end", action="store_true", help="exit at the end of the topic")
    commands.add_parser("dump", help="write all plants to a file, as JSON Lines").add_argument("file", type=Path)
    commands.add_parser("counts", help="count plants and all other kinds of records")
    commands.add_parser("corpus", help="print the result for each line of docs/corpus").add_argument("file", type=Path)
    options = parser.parse_args()

    if options.command == "corpus":
        for result in read_corpus(options.file):
            print(json.dumps(result))
        return
    store = OwnStore(options.store)
    if options.command == "dump":
        with options.file.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(plant)}\n" for plant in store.plants())
    if options.command == "follow":
        follow(store, options.until_end)
    print(json.dumps(store.counts()))


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
            if isinstance(record, Foreign):
                yield {"read": {"is": "foreign", "reason": record.reason}}
            else:
                known = {name: value for name, value in asdict(record).items() if value is not None}
                ids = {"id": str(record.id), "eventId": known.pop("event_id")}
                yield {"read": {"is": "unreadable" if record.reason else "readable", **known, **ids}, "ruling": ruling}


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
