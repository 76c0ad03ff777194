import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Base64;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** The lines of JSON that this program prints. Ids are text, because many JSON readers round an int64. */
final class Json {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  static ObjectNode creation(PlantRecord.Claim claim) {
    ObjectNode line = MAPPER.createObjectNode().put("id", Long.toString(claim.id()));
    if (claim instanceof PlantRecord.Readable readable) return putPlant(line, readable.plant());
    return line.put("unreadable", true);
  }

  static ObjectNode counts(Map<String, Integer> counts) {
    return MAPPER.valueToTree(counts);
  }

  /** The result for a line of the corpus (docs/corpus), in the format of the corpus. */
  static ObjectNode corpus(String line, FirstWins firstWins) throws IOException {
    JsonNode stored = MAPPER.readTree(line);
    Headers headers = new RecordHeaders();
    for (JsonNode header : stored.get("headers")) headers.add(header.get(0).textValue(), bytes(header.get(1)));
    int partition = stored.get("partition").intValue();
    int partitions = stored.get("partitions").intValue();
    PlantRecord record =
        PlantRecord.read(bytes(stored.get("key")), bytes(stored.get("value")), headers, partition, partitions);
    ObjectNode result = MAPPER.createObjectNode();
    result.set("read", read(record));
    if (record instanceof PlantRecord.Claim claim) {
      result.put("ruling", firstWins.rule(claim).name().toLowerCase(Locale.ROOT));
    }
    return result;
  }

  private static byte[] bytes(JsonNode base64) {
    return base64.isNull() ? null : Base64.getDecoder().decode(base64.textValue());
  }

  private static ObjectNode read(PlantRecord record) {
    ObjectNode json = MAPPER.createObjectNode();
    if (record instanceof PlantRecord.Foreign foreign) {
      return json.put("is", "foreign").put("reason", foreign.reason());
    }
    PlantRecord.Claim claim = (PlantRecord.Claim) record;
    json.put("id", Long.toString(claim.id())).put("eventId", claim.eventId());
    if (claim instanceof PlantRecord.Unreadable unreadable) {
      return json.put("is", "unreadable").put("reason", unreadable.reason());
    }
    return putPlant(json.put("is", "readable"), ((PlantRecord.Readable) claim).plant());
  }

  private static ObjectNode putPlant(ObjectNode line, PlantRecord.Plant plant) {
    line.put("name", plant.name());
    return plant.tag() == null ? line : line.put("tag", plant.tag());
  }
}
