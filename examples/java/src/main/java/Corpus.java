import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Base64;
import java.util.Locale;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** What this program makes of the corpus (docs/corpus): one line for each of its lines, as the corpus has it. */
final class Corpus {
  private final ObjectMapper mapper = new ObjectMapper();
  private final FirstWins firstWins = new FirstWins();

  ObjectNode read(String line) throws IOException {
    JsonNode stored = mapper.readTree(line);
    Headers headers = new RecordHeaders();
    for (JsonNode header : stored.get("headers")) headers.add(header.get(0).textValue(), bytes(header.get(1)));
    PlantRecord record =
        PlantRecord.read(
            bytes(stored.get("key")),
            bytes(stored.get("value")),
            headers,
            stored.get("partition").intValue(),
            stored.get("partitions").intValue());
    ObjectNode told = mapper.createObjectNode();
    told.set("read", Told.read(record));
    if (record instanceof PlantRecord.Claim claim) {
      told.put("ruling", firstWins.rule(claim).name().toLowerCase(Locale.ROOT));
    }
    return told;
  }

  private static byte[] bytes(JsonNode base64) {
    return base64.isNull() ? null : Base64.getDecoder().decode(base64.textValue());
  }
}
