"""The result for each line of the corpus (docs/corpus), in the format of the corpus."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

from own_store import OwnStore
from record import Claim, Foreign, Unreadable, read_record


def read_corpus(file: Path) -> Iterator[dict[str, object]]:
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
        return {"is": "foreign", "reason": record.value}
    claim = {"id": str(record.id), "eventId": record.event_id}
    if isinstance(record.says, Unreadable):
        return {"is": "unreadable", "reason": record.says.value, **claim}
    tag = {} if record.says.tag is None else {"tag": record.says.tag}
    return {"is": "readable", **claim, "name": record.says.name, **tag}
