import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TopicExistsException;
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
  private static final String BROKERS = setting("KAFKA_BROKERS", "localhost:19092");
  private static final Map<String, Object> CONNECTION = Map.of("bootstrap.servers", BROKERS);
  private static final String PLANTS = setting("PLANTS_TABLE", "plants.table");
  private static final String WATERINGS = setting("WATERINGS_TOPIC", "waterings");

  private Main() {}

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
    GlobalKTable<String, String> plants = plants(builder);
    builder.stream(WATERINGS, Consumed.with(Serdes.String(), Serdes.String()))
        .join(plants, (id, litres) -> id, (litres, plant) -> litres + " l for " + plant)
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

  /** Writes all plants, each as one line of JSON: the store is filled before the streams run. */
  private static void dump(Path file) throws Exception {
    StreamsBuilder builder = new StreamsBuilder();
    String store = plants(builder).queryableStoreName();
    try (KafkaStreams streams = start(builder);
        PrintStream out = new PrintStream(Files.newOutputStream(file), false, "UTF-8")) {
      var plants = streams.store(StoreQueryParameters.fromNameAndType(store, QueryableStoreTypes.<String, String>keyValueStore()));
      plants.all().forEachRemaining(plant -> out.println(plant.value));
    }
  }

  private static GlobalKTable<String, String> plants(StreamsBuilder builder) {
    return builder.globalTable(
        PLANTS,
        Consumed.with(Serdes.String(), Serdes.String()),
        Materialized.as(Stores.inMemoryKeyValueStore("plants")));
  }

  private static KafkaStreams start(StreamsBuilder builder) throws Exception {
    String folder = Files.createTempDirectory("java-streams").toString();
    var settings =
        Map.of("bootstrap.servers", BROKERS, "application.id", "java-streams", "state.dir", folder);
    KafkaStreams streams = new KafkaStreams(builder.build(), new StreamsConfig(settings));
    CountDownLatch running = new CountDownLatch(1);
    streams.setStateListener((now, before) -> {
      if (now == KafkaStreams.State.RUNNING || now == KafkaStreams.State.ERROR) running.countDown();
    });
    streams.start();
    running.await();
    return streams;
  }

  private static void createWaterings() throws Exception {
    try (Admin admin = Admin.create(CONNECTION)) {
      admin.createTopics(List.of(new NewTopic(WATERINGS, Optional.empty(), Optional.empty()))).all().get();
    } catch (ExecutionException error) {
      if (!(error.getCause() instanceof TopicExistsException)) throw error;
    }
  }

  private static String setting(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }
}
