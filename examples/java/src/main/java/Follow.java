import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads the topic from offset 0 and passes on each creation, once. */
final class Follow {
  /** Receives the creations, of each partition in order. */
  interface Creations {
    void take(PlantRecord.Claim creation) throws IOException;
  }

  private static final Duration POLL = Duration.ofMillis(200);

  private final FirstWins firstWins = new FirstWins();
  private final Map<String, Integer> counts =
      new TreeMap<>(Map.of("plants", 0, "unreadable", 0, "voids", 0, "repeated", 0, "foreign", 0));

  /** Runs forever, or to the end of the log at the start. Returns the number of records of each kind. */
  Map<String, Integer> run(String brokers, String topic, boolean untilEnd, Creations creations) throws IOException {
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings(brokers))) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream()
              .map(info -> new TopicPartition(topic, info.partition()))
              .toList();
      if (partitions.isEmpty()) throw new IllegalStateException("there is no topic " + topic);
      begin(consumer, partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      // The position, not the last record's offset: transaction markers may follow that record.
      while (!untilEnd || partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          take(record, partitions.size(), creations);
        }
      }
      return counts;
    }
  }

  private static Properties settings(String brokers) throws IOException {
    Properties settings = new Properties();
    KafkaSettings.addSecurity(settings);
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
    settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    // The default returns the records of aborted transactions.
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    // The default jumps to the end when the position does not exist, and skips everything in between.
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
    // The default creates a missing topic, if the brokers allow it: with another partition count and limited retention.
    settings.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
    // Each start reads from offset 0: no group, and nothing is committed.
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    return settings;
  }

  private static void begin(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions) {
    consumer.assign(partitions);
    consumer.beginningOffsets(partitions)
        .forEach(
            (partition, first) -> {
              if (first == 0) return;
              throw new IllegalStateException(
                  partition + " begins at " + first + ": who was first can't be known any more");
            });
    for (TopicPartition partition : partitions) consumer.seek(partition, 0);
  }

  private void take(ConsumerRecord<byte[], byte[]> stored, int partitions, Creations creations)
      throws IOException {
    PlantRecord record =
        PlantRecord.read(stored.key(), stored.value(), stored.headers(), stored.partition(), partitions);
    if (!(record instanceof PlantRecord.Claim claim)) {
      count("foreign");
      return;
    }
    switch (firstWins.rule(claim)) {
      case VOID -> count("voids");
      case REPEATED -> count("repeated");
      case CREATED -> {
        count(claim instanceof PlantRecord.Readable ? "plants" : "unreadable");
        creations.take(claim);
      }
    }
  }

  private void count(String kind) {
    counts.merge(kind, 1, Integer::sum);
  }
}
