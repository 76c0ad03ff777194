"""Classifies a record: docs/reference/events.md in Python. No I/O; nothing here needs Kafka."""

import json
import re
from dataclasses import dataclass

MAX_CODE_POINTS = 1_000
MAX_LEVELS = 64

# fullmatch, because match with $ accepts a trailing line break. [0-9], because \d accepts the digits of all scripts,
# as int() does.
CANONICAL_INT64 = re.compile(rb"0|-?[1-9][0-9]{0,18}")
CANONICAL_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# A string without an end is one token too: a search that starts again inside a long one takes quadratic time.
STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)


@dataclass(frozen=True)
class Foreign:
    """It claims no id."""

    reason: str


@dataclass(frozen=True)
class Claim:
    """It claims its id. One that is unreadable has a reason in place of a name."""

    id: int
    event_id: str
    name: str | None = None
    tag: str | None = None
    reason: str | None = None


Headers = list[tuple[str, bytes | None]] | None


def read_record(
    key: bytes | None, value: bytes | None, headers: Headers, partition: int, partitions: int
) -> Claim | Foreign:
    """The first match decides. Version and payload do not decide whether an id is claimed."""
    if only(headers, "ce_type") != b"PlantCreated":
        return Foreign("otherType")
    if key is None or not CANONICAL_INT64.fullmatch(key) or not -(2**63) <= int(key) < 2**63:
        return Foreign("badKey")
    if (murmur2(key) & 0x7FFFFFFF) % partitions != partition:
        return Foreign("wrongPartition")
    event_id = only(headers, "ce_id")
    if event_id is None or not CANONICAL_UUID.fullmatch(event_id):
        return Foreign("badEventId")
    if only(headers, "content-type") != b"application/json; version=1":
        return Claim(int(key), event_id.decode("ascii"), reason="unknownVersion")
    return read_version_1(int(key), event_id.decode("ascii"), value)


def only(headers: Headers, name: str) -> bytes | None:
    """The value of a header that occurs exactly once. A duplicate header counts as missing."""
    contents = [content for key, content in headers or [] if key == name]
    return contents[0] if len(contents) == 1 else None


def read_version_1(id_: int, event_id: str, value: bytes | None) -> Claim:
    try:
        plant = parse_json(value or b"")
    except ValueError:  # No UTF-8, or no JSON.
        plant = None
    # "tag": null is a tag that is no text.
    if (
        isinstance(plant, dict)
        and plant.get("id") == str(id_)
        and is_text(plant.get("name"))
        and is_text(plant.get("tag", ""))
    ):
        return Claim(id_, event_id, plant["name"], plant.get("tag"))
    return Claim(id_, event_id, reason="unreadablePayload")


def parse_json(value: bytes) -> object:
    # Decoded first: given bytes, json.loads guesses UTF-16 and UTF-32 and skips a byte order mark.
    text = value.decode("utf-8")
    if levels(text) > MAX_LEVELS:
        raise ValueError("nested too deep")
    # Python accepts NaN, which is not JSON. As an int, a number of 5,000 digits would be an error; as a str, a number
    # would count as a string.
    return json.loads(text, parse_constant=refuse, parse_int=float)


def levels(text: str) -> int:
    """The nesting of objects and lists. json.loads has no limit for it and fails at Python's recursion limit."""
    level = deepest = 0
    for token in STRING_OR_BRACKET.finditer(text):
        level += 1 if token[0] in "[{" else -1 if token[0] in "]}" else 0
        deepest = max(deepest, level)
    return deepest


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def is_text(value: object) -> bool:
    """Python counts code points, as the contract does. A lone surrogate comes from an escape such as \\ud800."""
    return (
        isinstance(value, str)
        and len(value) <= MAX_CODE_POINTS
        and not any("\ud800" <= character <= "\udfff" for character in value)
    )


def murmur2(data: bytes) -> int:
    """Kafka's murmur2, 32 bits, unsigned. Python integers are unbounded, so each product is truncated."""
    mask, mix = 0xFFFFFFFF, 0x5BD1E995
    hash_ = 0x9747B28C ^ len(data)
    words = len(data) & ~3
    for at in range(0, words, 4):
        k = int.from_bytes(data[at : at + 4], "little") * mix & mask
        k = (k ^ (k >> 24)) * mix & mask
        hash_ = hash_ * mix & mask ^ k
    if len(data) > words:
        hash_ = (hash_ ^ int.from_bytes(data[words:], "little")) * mix & mask
    hash_ = (hash_ ^ (hash_ >> 13)) * mix & mask
    return hash_ ^ (hash_ >> 15)
