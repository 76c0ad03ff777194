"""The plants of a Plant Store in a SQLite file, exactly once each. See README.md."""

import argparse
import json
import os
from collections.abc import Iterable
from pathlib import Path

from corpus import read_corpus
from follow import follow
from own_store import OwnStore

STORE = Path(__file__).resolve().parents[2] / ".local" / "examples" / "python.sqlite"


def main() -> None:
    options = read_options()
    if options.command == "corpus":
        return print_lines(read_corpus(options.file))
    store = OwnStore(options.store)
    if options.command == "dump":
        with options.file.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(plant)}\n" for plant in store.plants())
    if options.command == "follow":
        follow(options.brokers, options.topic, store, options.until_end)
    return print_lines([store.counts()])


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


def print_lines(lines: Iterable[dict[str, object]]) -> None:
    for line in lines:
        print(json.dumps(line))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
