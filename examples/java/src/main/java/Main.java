import java.io.BufferedWriter;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The plants of a Plant Store as JSON Lines, each once. See README.md. */
public final class Main {
  private static final String USAGE =
      """
      follow        print all plants, then each new one
      dump FILE     write all plants to a file, print the counts, and exit
      corpus FILE   print the result for each line of docs/corpus

      KAFKA_BROKERS (localhost:19092) and PLANTS_TOPIC (plants) name the topic to read. For a secured Kafka, see
      docs/how-to/connect-secured-stores.md.
      """;

  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private Main() {}

  public static void main(String[] args) throws IOException {
    String command = args.length == 0 ? "" : args[0];
    if (command.equals("follow") && args.length == 1) {
      follow(false, creation -> OUT.println(Output.creation(creation)));
    } else if (command.equals("dump") && args.length == 2) {
      dump(Path.of(args[1]));
    } else if (command.equals("corpus") && args.length == 2) {
      corpus(Path.of(args[1]));
    } else {
      System.err.print(USAGE);
      System.exit(2);
    }
  }

  private static FirstWins.Counts follow(boolean untilEnd, Follow.Creations creations) throws IOException {
    String brokers = KafkaSettings.of("KAFKA_BROKERS", "localhost:19092");
    return new Follow().run(brokers, KafkaSettings.of("PLANTS_TOPIC", "plants"), untilEnd, creations);
  }

  private static void dump(Path file) throws IOException {
    try (BufferedWriter lines = Files.newBufferedWriter(file)) {
      OUT.println(Output.counts(follow(true, creation -> lines.write(Output.creation(creation) + "\n"))));
    }
  }

  private static void corpus(Path file) throws IOException {
    Corpus corpus = new Corpus();
    for (String line : Files.readAllLines(file)) OUT.println(corpus.read(line));
  }
}
