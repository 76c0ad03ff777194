import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.Stores;

/** Waterings of plants, joined with the table of Plant Store: the plants are a GlobalKTable, without any rule. */
public final class Main {
  private static final Map<String, String> ENV = System.getenv();
  private static final String BROKERS = ENV.getOrDefault("KAFKA_BROKERS", "localhost:19092");
  private static final Map<String, Object> CONNECTION = Map.of("bootstrap.servers", BROKERS);
  private static final String WATERINGS = ENV.getOrDefault("WATERINGS_TOPIC", "waterings");
  private static final Consumed<String, String> TEXTS = Consumed.with(Serdes.String(), Serdes.String());

  public static void main(String[] args) throws Exception {
    switch (args.length == 0 ? "" : args[0] + " " + (args.length - 1)) {
      case "follow 0" -> follow();
      case "water 2" -> water(args[1], args[2]);
      case "dump 1" -> dump(Path.of(args[1]));
      default -> {
        System.err.println("usage: follow | water ID LITRES | dump FILE");
        System.exit(2);
      }
    }
  }

  /** Prints each watering with its plant, until it is stopped. */
  private static void follow() throws Exception {
    createWaterings();
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(WATERINGS, TEXTS)
        .join(plants(builder), (id, litres) -> id, (litres, plant) -> litres + " l for " + plant)
        .foreach((id, watering) -> System.out.println(watering));
    KafkaStreams streams = start(builder);
    System.out.println("following " + WATERINGS);
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
  }

  private static void water(String id, String litres) throws Exception {
    createWaterings();
    try (var producer = new KafkaProducer<>(CONNECTION, new StringSerializer(), new StringSerializer())) {
      producer.send(new ProducerRecord<>(WATERINGS, id, litres)).get();
    }
  }

  /** Writes all plants, each as one line of JSON: from the table in memory. */
  private static void dump(Path file) throws Exception {
    StreamsBuilder builder = new StreamsBuilder();
    String name = plants(builder).queryableStoreName();
    try (KafkaStreams streams = start(builder);
        PrintStream out = new PrintStream(Files.newOutputStream(file), false, "UTF-8")) {
      var store = StoreQueryParameters.fromNameAndType(name, QueryableStoreTypes.<String, String>keyValueStore());
      streams.store(store).all().forEachRemaining(plant -> out.println(plant.value));
    }
  }

  private static GlobalKTable<String, String> plants(StreamsBuilder builder) {
    String table = ENV.getOrDefault("PLANTS_TABLE", "plants.table");
    return builder.globalTable(table, TEXTS, Materialized.as(Stores.inMemoryKeyValueStore("plants")));
  }

  /** Starts the streams. Returns when the table has been read. */
  private static KafkaStreams start(StreamsBuilder builder) throws Exception {
    String folder = Files.createTempDirectory("java-streams").toString();
    var settings = Map.of("bootstrap.servers", BROKERS, "application.id", "java-streams", "state.dir", folder);
    KafkaStreams streams = new KafkaStreams(builder.build(), new StreamsConfig(settings));
    streams.start();
    return streams;
  }

  private static void createWaterings() throws Exception {
    try (Admin admin = Admin.create(CONNECTION)) {
      if (admin.listTopics().names().get().contains(WATERINGS)) return;
      admin.createTopics(List.of(new NewTopic(WATERINGS, Optional.empty(), Optional.empty()))).all().get();
    }
  }
}
