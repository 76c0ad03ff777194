import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** The output of this program: JSON Lines. Ids are text, because many JSON readers round an int64. */
final class Output {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Output() {}

  static ObjectNode creation(PlantRecord.Claim claim) {
    ObjectNode line = MAPPER.createObjectNode().put("id", Long.toString(claim.id()));
    if (claim instanceof PlantRecord.Readable readable) return putPlant(line, readable.plant());
    return line.put("unreadable", true);
  }

  static ObjectNode counts(FirstWins.Counts counts) {
    return MAPPER.valueToTree(counts);
  }

  /** In the format of docs/corpus. */
  static ObjectNode read(PlantRecord record) {
    ObjectNode json = MAPPER.createObjectNode();
    if (record instanceof PlantRecord.Foreign foreign) {
      return json.put("is", "foreign").put("reason", foreign.reason());
    }
    PlantRecord.Claim claim = (PlantRecord.Claim) record;
    if (claim instanceof PlantRecord.Unreadable unreadable) {
      json.put("is", "unreadable").put("reason", unreadable.reason());
    } else json.put("is", "readable");
    json.put("id", Long.toString(claim.id())).put("eventId", claim.eventId());
    return claim instanceof PlantRecord.Readable readable ? putPlant(json, readable.plant()) : json;
  }

  private static ObjectNode putPlant(ObjectNode line, PlantRecord.Plant plant) {
    line.put("name", plant.name());
    return plant.tag() == null ? line : line.put("tag", plant.tag());
  }
}
