import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads the topic from offset 0 and passes on each creation, once, of each partition in order. */
final class Follow {
  private static final Map<String, String> ENV = System.getenv();
  private static final Duration POLL = Duration.ofMillis(200);

  private final FirstWins firstWins = new FirstWins();
  private final Map<String, Integer> counts =
      new TreeMap<>(Map.of("plants", 0, "unreadable", 0, "voids", 0, "repeated", 0, "foreign", 0));

  /** Runs forever, or to the end of the log at the start. Returns the number of records of each kind. */
  Map<String, Integer> run(boolean untilEnd, Consumer<PlantRecord.Claim> creations) throws IOException {
    String topic = ENV.getOrDefault("PLANTS_TOPIC", "plants");
    try (var consumer = new KafkaConsumer<>(settings(), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).toList();
      if (partitions.isEmpty()) throw new IllegalStateException("there is no topic " + topic);
      consumer.assign(partitions);
      // Not seekToBeginning: if the log has lost its first records, who was first can't be known, and the poll fails.
      for (TopicPartition partition : partitions) consumer.seek(partition, 0);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      // The position, not the last record's offset: transaction markers may follow that record.
      while (!untilEnd || partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          String kind = take(PlantRecord.read(record, partitions.size()), creations);
          counts.merge(kind, 1, Integer::sum);
        }
      }
      return counts;
    }
  }

  private static Properties settings() throws IOException {
    Properties settings = new Properties();
    String file = ENV.get("KAFKA_PROPERTIES_FILE");
    if (file != null) {
      try (Reader reader = Files.newBufferedReader(Path.of(file))) {
        settings.load(reader);
      }
    }
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, ENV.getOrDefault("KAFKA_BROKERS", "localhost:19092"));
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

  private String take(PlantRecord record, Consumer<PlantRecord.Claim> creations) {
    if (!(record instanceof PlantRecord.Claim claim)) return "foreign";
    return switch (firstWins.rule(claim)) {
      case VOID -> "voids";
      case REPEATED -> "repeated";
      case CREATED -> {
        creations.accept(claim);
        yield claim instanceof PlantRecord.Readable ? "plants" : "unreadable";
      }
    };
  }
}
