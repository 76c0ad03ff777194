"""Follows the topic into the store. The position is only in the store; nothing is committed to Kafka."""

import os
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from own_store import OwnStore
from record import Headers, only, read_record

TIMEOUT_S = 20
BATCH_RECORDS = 1_000
BATCH_WAIT_S = 0.2


def follow(store: OwnStore, until_end: bool) -> None:
    """Runs forever, or until each partition is read to its end."""
    topic = os.environ.get("PLANTS_TOPIC") or "plants"
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ.get("KAFKA_BROKERS") or "localhost:19092",
            **settings_of_user(),
            # Required by the client. No offset is committed to the group, and no other member joins it.
            "group.id": "plant-store-example-python",
            "enable.auto.commit": False,
            # A record of a transaction counts only after its commit.
            "isolation.level": "read_committed",
            # The default jumps to the end when the position does not exist, and skips everything in between.
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
    )
    try:
        described = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
        if described.error is not None:
            raise SystemExit(f"Topic {topic} can't be read: {described.error.str()}.")
        partitions = len(described.partitions)
        positions = store.positions(partitions)
        for partition, offset, event_id in positions:
            if offset >= 0 and not holds(consumer, TopicPartition(topic, partition, offset), event_id):
                raise SystemExit(
                    f"Partition {partition} does not hold at offset {offset} what was read there: this is another log, "
                    f"or it lost its end. Delete {store.path}* to start again, if this log is the right one."
                )
        # If the log has lost its first records, who was first can't be known, and this is an error.
        consumer.assign([TopicPartition(topic, partition, offset + 1) for partition, offset, _ in positions])
        print(f"Following {topic} into {store.path}; Ctrl-C ends it.", flush=True)
        at_end: set[int] = set()
        while not (until_end and len(at_end) == partitions):
            messages = consumer.consume(BATCH_RECORDS, BATCH_WAIT_S)
            # Plants and positions in one transaction: after a crash both are there or neither.
            with store.transaction():
                for message in messages:
                    if is_error(message, KafkaError._PARTITION_EOF):
                        at_end.add(message.partition())
                    else:
                        partition, headers = message.partition(), headers_of(message)
                        record = read_record(message.key(), message.value(), headers, partition, partitions)
                        store.take_at(partition, message.offset(), only(headers, "ce_id"), record)
    finally:
        consumer.close()


def settings_of_user() -> dict[str, str]:
    """Further settings of the client, such as those of a secured Kafka: a file of lines `name=value`, as for kcat."""
    file = os.environ.get("KAFKA_PROPERTIES_FILE")
    lines = Path(file).read_text(encoding="utf-8").split("\n") if file else []
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def holds(consumer: Consumer, place: TopicPartition, event_id: bytes | None) -> bool:
    """True if the log has the event at this place."""
    consumer.assign([place])
    found = consumer.poll(TIMEOUT_S)
    if found is None:
        raise SystemExit(f"Kafka does not return the record of partition {place.partition} at offset {place.offset}.")
    is_beyond_end = is_error(found, KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET)
    return not is_beyond_end and found.offset() == place.offset and only(headers_of(found), "ce_id") == event_id


def is_error(message: Message, *codes: int) -> bool:
    """True for one of these errors. Raises every other one."""
    error = message.error()
    if error is not None and error.code() not in codes:
        raise KafkaException(error)
    return error is not None


def headers_of(message: Message) -> Headers:
    try:
        return message.headers()
    except (SystemError, UnicodeError) as error:
        # Without its headers it is unknown whether the record claims an id, so it must not be skipped.
        raise SystemExit(
            f"Partition {message.partition()} has a record at offset {message.offset()} with a header whose name is no "
            "UTF-8. This client cannot read it, and no producer may write it: see docs/reference/events.md."
        ) from error
