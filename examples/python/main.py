"""The plants of a Plant Store in a SQLite file of this program's own, exactly once each. See README.md."""

import argparse
import json
import os
from pathlib import Path

from own_store import OwnStore

LOCAL = Path(os.environ.get("PLANT_STORE_LOCAL_DIR") or Path(__file__).resolve().parents[2] / ".local")


def running_start() -> dict[str, str]:
    """What a running `npm start` says of itself."""
    file = LOCAL / "run.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=LOCAL / "examples" / "python.sqlite", help="its file")
    commands = parser.add_subparsers(dest="command", required=True)
    follow = commands.add_parser("follow", help="read the topic, and go on as events come")
    run = running_start()
    follow.add_argument("--brokers", default=run.get("kafkaBrokers", "localhost:9092"))
    follow.add_argument("--topic", default=run.get("topic", "plants"))
    follow.add_argument("--until-end", action="store_true", help="end when all was read that is there")
    commands.add_parser("dump", help="all plants as JSON Lines")
    commands.add_parser("counts", help="how many plants, and what else the log holds")
    options = parser.parse_args()
    store = OwnStore(options.store)
    if options.command == "follow":
        from follow import follow as follow_topic  # Here, since the others need no Kafka client.

        follow_topic(options.brokers, options.topic, store, options.until_end)
    if options.command == "dump":
        for plant in store.plants():
            print(json.dumps(plant))
    if options.command == "follow" and not options.until_end:
        return
    if options.command != "dump":
        print(json.dumps(store.counts()))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
