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
      follow        print the plants that there are, then each as it is created
      dump FILE     write the plants that there are into a file, print how many, and end
      corpus FILE   print what this reader makes of docs/corpus

      KAFKA_BROKERS (localhost:9092) and PLANTS_TOPIC (plants) say what to read.
      """;

  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  private Main() {}

  public static void main(String[] args) throws IOException {
    String command = args.length == 0 ? "" : args[0];
    if (command.equals("follow") && args.length == 1) {
      follow(false, creation -> OUT.println(Told.creation(creation)));
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
    String brokers = setting("KAFKA_BROKERS", "localhost:9092");
    return new Follow().run(brokers, setting("PLANTS_TOPIC", "plants"), untilEnd, creations);
  }

  private static void dump(Path file) throws IOException {
    try (BufferedWriter lines = Files.newBufferedWriter(file)) {
      OUT.println(Told.counts(follow(true, creation -> lines.write(Told.creation(creation) + "\n"))));
    }
  }

  private static void corpus(Path file) throws IOException {
    Corpus corpus = new Corpus();
    for (String line : Files.readAllLines(file)) OUT.println(corpus.read(line));
  }

  private static String setting(String name, String otherwise) {
    String set = System.getenv(name);
    return set == null || set.isEmpty() ? otherwise : set;
  }
}
