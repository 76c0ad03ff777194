import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Base64;
import java.util.Locale;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** The result for each line of the corpus (docs/corpus), in the format of the corpus. */
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
    ObjectNode result = mapper.createObjectNode();
    result.set("read", Output.read(record));
    if (record instanceof PlantRecord.Claim claim) {
      result.put("ruling", firstWins.rule(claim).name().toLowerCase(Locale.ROOT));
    }
    return result;
  }

  private static byte[] bytes(JsonNode base64) {
    return base64.isNull() ? null : Base64.getDecoder().decode(base64.textValue());
  }
}
