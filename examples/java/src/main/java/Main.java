import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The plants of a Plant Store as JSON Lines, each once. See README.md. */
public final class Main {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final ObjectMapper JSON =
      JsonMapper.builder().defaultPropertyInclusion(JsonInclude.Value.ALL_NON_NULL).build();

  public static void main(String[] args) throws IOException {
    switch (args.length == 0 ? "" : args[0] + " " + (args.length - 1)) {
      case "follow 0" -> new Follow().run(false, creation -> OUT.println(lineOf(creation)));
      case "dump 1" -> dump(Path.of(args[1]));
      case "corpus 1" -> corpus(Path.of(args[1]));
      default -> {
        System.err.println("usage: follow | dump FILE | corpus FILE");
        System.exit(2);
      }
    }
  }

  private static void dump(Path file) throws IOException {
    try (PrintWriter lines = new PrintWriter(Files.newBufferedWriter(file))) {
      var counts = new Follow().run(true, creation -> lines.print(lineOf(creation) + "\n"));
      if (lines.checkError()) throw new IOException("cannot write " + file);
      OUT.println(JSON.writeValueAsString(counts));
    }
  }

  private static ObjectNode lineOf(PlantRecord.Claim creation) {
    ObjectNode line = jsonOf(creation);
    line.remove("eventId");
    if (line.remove("reason") != null) line.put("unreadable", true);
    return line;
  }

  private static ObjectNode jsonOf(PlantRecord record) {
    ObjectNode json = JSON.valueToTree(record);
    // Text, because many JSON readers round an int64.
    if (record instanceof PlantRecord.Claim claim) json.put("id", Long.toString(claim.id()));
    return json;
  }

  /** Prints the result for each line of the corpus (docs/corpus), in the format of the corpus. */
  private static void corpus(Path file) throws IOException {
    FirstWins firstWins = new FirstWins();
    for (String line : Files.readAllLines(file)) {
      JsonNode given = JSON.readTree(line);
      int partition = given.get("partition").intValue();
      // Keys, values and headers are texts in base64, or null.
      byte[] value = given.get("value").binaryValue();
      var stored = new ConsumerRecord<>("corpus", partition, 0, given.get("key").binaryValue(), value);
      for (JsonNode header : given.get("headers")) {
        stored.headers().add(header.get(0).textValue(), header.get(1).binaryValue());
      }
      PlantRecord record = PlantRecord.read(stored, given.get("partitions").intValue());
      String is = record.getClass().getSimpleName().toLowerCase(Locale.ROOT);
      ObjectNode result = JSON.createObjectNode().set("read", jsonOf(record).put("is", is));
      if (record instanceof PlantRecord.Claim claim) {
        result.put("ruling", firstWins.rule(claim).name().toLowerCase(Locale.ROOT));
      }
      OUT.println(result);
    }
  }
}
