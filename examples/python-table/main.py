"""All plants, from the table of Plant Store: a dictionary by id, without any rule."""

import json
import os

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

topic = os.environ.get("PLANTS_TABLE", "plants.table")
brokers = os.environ.get("KAFKA_BROKERS", "localhost:19092")
consumer = Consumer({"bootstrap.servers": brokers, "group.id": "python-table", "enable.partition.eof": True})
described = consumer.list_topics(topic, timeout=10).topics[topic]
if described.error is not None:
    raise SystemExit(f"Topic {topic} can't be read: {described.error.str()}.")
unread = set(described.partitions)
consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])

plants = {}
while unread:
    message = consumer.poll(1.0)
    if message is None:
        continue
    if message.error() is None:
        plants[message.key()] = json.loads(message.value())
    elif message.error().code() == KafkaError._PARTITION_EOF:
        unread.discard(message.partition())
for plant in plants.values():
    print(json.dumps(plant))
