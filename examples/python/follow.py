"""Follows the topic into the store. The position is only in the store; nothing is committed to Kafka."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafka_settings import security
from own_store import OwnStore, Position
from record import only, read_record

TIMEOUT_S = 20
BATCH_RECORDS = 1_000
BATCH_WAIT_S = 0.2


def follow(brokers: str, topic: str, store: OwnStore, until_end: bool) -> None:
    """Runs forever, or until each partition is read to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            **security(),
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
        partitions = count_partitions(consumer, topic)
        store.begin_log(topic, partitions)
        # Read once: another process may move them at any moment.
        positions = store.positions()
        begin(consumer, topic, partitions, positions)
        print(f"Following {topic} into {store.path}; Ctrl-C ends it.", flush=True)
        Following(consumer, store, partitions, positions).go_on(until_end)
    finally:
        consumer.close()


def count_partitions(consumer: Consumer, topic: str) -> int:
    described = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
    if described.error is not None:
        raise SystemExit(f"Topic {topic} can't be read: {described.error.str()}.")
    return len(described.partitions)


def begin(consumer: Consumer, topic: str, partitions: int, positions: dict[int, Position]) -> None:
    """At the last processed record, to verify that the log still holds it, or at offset 0."""
    assigned = [
        TopicPartition(topic, partition, positions[partition].offset if partition in positions else 0)
        for partition in range(partitions)
    ]
    for place in assigned:
        first, _end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
        if first > 0:
            raise SystemExit(f"Partition {place.partition} begins at {first}: who was first can't be known any more.")
    consumer.assign(assigned)


class Following:
    def __init__(self, consumer: Consumer, store: OwnStore, partitions: int, positions: dict[int, Position]) -> None:
        self.consumer, self.store, self.partitions, self.positions = consumer, store, partitions, positions
        # The events that the log must still hold to be the same log.
        self.unproven = dict(positions)
        self.at_end: set[int] = set()
        self.read = 0

    def go_on(self, until_end: bool) -> None:
        while not (until_end and len(self.at_end) == self.partitions):
            messages = self.consumer.consume(BATCH_RECORDS, BATCH_WAIT_S)
            read = self.read
            # Plants and positions in one transaction: after a crash both are there or neither.
            with self.store.transaction():
                for message in messages:
                    self.take(message)
            if self.read > read:
                print(f"{self.read} records read", flush=True)

    def take(self, message: Message) -> None:
        partition, error = message.partition(), message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            self.prove(partition, None)
            self.at_end.add(partition)
        elif error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET and partition in self.positions:
            raise self.another_log(partition) from KafkaException(error)
        elif error is not None:
            raise KafkaException(error)
        else:
            position = Position(message.offset(), only(headers_of(message), "ce_id"))
            if not self.prove(partition, position):
                self.take_in(message, position)

    def prove(self, partition: int, found: Position | None) -> bool:
        """True if this is the last record that was processed before this start."""
        expected = self.unproven.pop(partition, None)
        if expected is not None and found != expected:
            raise self.another_log(partition)
        return expected is not None

    def another_log(self, partition: int) -> SystemExit:
        offset = self.positions[partition].offset
        return SystemExit(
            f"Partition {partition} does not hold at offset {offset} what was read there: this is another log, or it "
            f"lost its end. Delete {self.store.path}* to start again, if this log is the right one."
        )

    def take_in(self, message: Message, position: Position) -> None:
        partition = message.partition()
        self.store.take(read_record(message.key(), message.value(), headers_of(message), partition, self.partitions))
        self.store.move(partition, self.positions.get(partition), position)
        self.positions[partition] = position
        self.read += 1


def headers_of(message: Message) -> list[tuple[str, bytes | None]] | None:
    try:
        return message.headers()
    except (SystemError, UnicodeError) as error:
        # Without its headers it is unknown whether the record claims an id, so it must not be skipped.
        raise SystemExit(
            f"Partition {message.partition()} has a record at offset {message.offset()} with a header whose name is no "
            "UTF-8. This client cannot read it, and no producer may write it: see docs/reference/events.md."
        ) from error
