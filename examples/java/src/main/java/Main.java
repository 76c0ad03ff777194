import java.io.BufferedWriter;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The plants of a Plant Store as JSON Lines, each once. See README.md. */
public final class Main {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private Main() {}

  public static void main(String[] args) throws IOException {
    switch (args.length == 0 ? "" : args[0] + " " + (args.length - 1)) {
      case "follow 0" -> follow(false, creation -> OUT.println(Json.creation(creation)));
      case "dump 1" -> dump(Path.of(args[1]));
      case "corpus 1" -> corpus(Path.of(args[1]));
      default -> {
        System.err.println("usage: follow | dump FILE | corpus FILE");
        System.exit(2);
      }
    }
  }

  private static Map<String, Integer> follow(boolean untilEnd, Follow.Creations creations) throws IOException {
    String brokers = KafkaSettings.of("KAFKA_BROKERS", "localhost:19092");
    return new Follow().run(brokers, KafkaSettings.of("PLANTS_TOPIC", "plants"), untilEnd, creations);
  }

  private static void dump(Path file) throws IOException {
    try (BufferedWriter lines = Files.newBufferedWriter(file)) {
      OUT.println(Json.counts(follow(true, creation -> lines.write(Json.creation(creation) + "\n"))));
    }
  }

  private static void corpus(Path file) throws IOException {
    FirstWins firstWins = new FirstWins();
    for (String line : Files.readAllLines(file)) OUT.println(Json.corpus(line, firstWins));
  }
}
