"""Follows the topic into the store. Kafka keeps nothing of this consumer: where it stands is in the store alone."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from own_store import OwnStore
from record import CanNotTell, read_record

TIMEOUT_S = 20
BATCH_RECORDS = 1_000
BATCH_WAIT_S = 0.2


def follow(brokers: str, topic: str, store: OwnStore, until_end: bool) -> None:
    """Goes on for ever, or until each partition was read to its end."""
    topic_id, partitions = describe(brokers, topic)
    store.begin_log(topic, topic_id, partitions)
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            # Asked for by the client. No offset is committed to it and nobody else joins it.
            "group.id": "plant-store-example-python",
            "enable.auto.commit": False,
            # A record of a transaction counts only once it is committed.
            "isolation.level": "read_committed",
            # The default would jump to the end when the place asked for is not there, and leave out what is between.
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
    )
    try:
        begin(consumer, topic, partitions, store.positions())
        take_all(consumer, store, partitions, until_end)
    finally:
        consumer.close()


def describe(brokers: str, topic: str) -> tuple[str, int]:
    admin = AdminClient({"bootstrap.servers": brokers})
    described = admin.describe_topics(TopicCollection([topic]), request_timeout=TIMEOUT_S)[topic].result()
    return str(described.topic_id), len(described.partitions)


def begin(consumer: Consumer, topic: str, partitions: int, positions: dict[int, int]) -> None:
    """Goes on where the store stands, and else at offset 0."""
    assigned = [TopicPartition(topic, partition, positions.get(partition, 0)) for partition in range(partitions)]
    for place in assigned:
        first, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
        if first > 0:
            raise SystemExit(f"Partition {place.partition} begins at {first}: who was first can't be known any more.")
        if place.offset > end:
            raise SystemExit(f"Partition {place.partition} ends at {end}, before {place.offset}: it lost records.")
    consumer.assign(assigned)


def take_all(consumer: Consumer, store: OwnStore, partitions: int, until_end: bool) -> None:
    at_end: set[int] = set()
    while not (until_end and len(at_end) == partitions):
        messages = consumer.consume(BATCH_RECORDS, BATCH_WAIT_S)
        # Plants and positions in one transaction: after a crash both are there or neither is.
        with store.transaction():
            for message in messages:
                take(message, store, partitions, at_end)


def take(message: Message, store: OwnStore, partitions: int, at_end: set[int]) -> None:
    partition, offset, error = message.partition(), message.offset(), message.error()
    if error is not None and error.code() == KafkaError._PARTITION_EOF:
        at_end.add(partition)
        # Behind the last record there may be the marks that end transactions.
        return store.move(partition, offset)
    if error is not None:
        raise KafkaException(error)
    try:
        record = read_record(message.key(), message.value(), message.headers(), partition, partitions)
    except CanNotTell as doubt:
        raise SystemExit(f"The record at offset {offset} of partition {partition}: {doubt}.") from doubt
    store.take(record)
    return store.move(partition, offset + 1)
