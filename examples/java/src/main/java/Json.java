import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** The lines of JSON that this program prints. */
final class Json {
  /** Ids are text, because many JSON readers round an int64. */
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .addModule(new SimpleModule().addSerializer(long.class, ToStringSerializer.instance))
          .defaultPropertyInclusion(JsonInclude.Value.ALL_NON_NULL)
          .build();

  private Json() {}

  static ObjectNode creation(PlantRecord.Claim claim) {
    ObjectNode line = MAPPER.valueToTree(claim);
    line.remove("eventId");
    if (line.remove("reason") != null) line.put("unreadable", true);
    return line;
  }

  static ObjectNode counts(Map<String, Integer> counts) {
    return MAPPER.valueToTree(counts);
  }

  /** The result for a line of the corpus (docs/corpus), in the format of the corpus. */
  static ObjectNode corpus(String line, FirstWins firstWins) throws IOException {
    JsonNode stored = MAPPER.readTree(line);
    Headers headers = new RecordHeaders();
    // The nodes are texts in base64, or null.
    for (JsonNode header : stored.get("headers")) headers.add(header.get(0).textValue(), header.get(1).binaryValue());
    byte[] key = stored.get("key").binaryValue();
    byte[] value = stored.get("value").binaryValue();
    int partition = stored.get("partition").intValue();
    PlantRecord record = PlantRecord.read(key, value, headers, partition, stored.get("partitions").intValue());
    ObjectNode read = MAPPER.valueToTree(record);
    read.put("is", record.getClass().getSimpleName().toLowerCase(Locale.ROOT));
    ObjectNode result = MAPPER.createObjectNode().set("read", read);
    if (record instanceof PlantRecord.Claim claim) {
      result.put("ruling", firstWins.rule(claim).name().toLowerCase(Locale.ROOT));
    }
    return result;
  }
}
