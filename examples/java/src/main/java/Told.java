import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** What this program prints: JSON, one object a line. Ids are text there, since many readers of JSON lose digits of an int64. */
final class Told {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Told() {}

  static ObjectNode creation(PlantRecord.Claim claim) {
    ObjectNode line = MAPPER.createObjectNode().put("id", Long.toString(claim.id()));
    if (claim instanceof PlantRecord.Readable readable) return putPlant(line, readable.plant());
    return line.put("unreadable", true);
  }

  static ObjectNode counts(FirstWins.Counts counts) {
    return MAPPER.valueToTree(counts);
  }

  /** As docs/corpus tells it. */
  static ObjectNode read(PlantRecord record) {
    ObjectNode told = MAPPER.createObjectNode();
    if (record instanceof PlantRecord.Foreign foreign) {
      return told.put("is", "foreign").put("reason", foreign.reason());
    }
    PlantRecord.Claim claim = (PlantRecord.Claim) record;
    if (claim instanceof PlantRecord.Unreadable unreadable) {
      told.put("is", "unreadable").put("reason", unreadable.reason());
    } else told.put("is", "readable");
    told.put("id", Long.toString(claim.id())).put("eventId", claim.eventId());
    return claim instanceof PlantRecord.Readable readable ? putPlant(told, readable.plant()) : told;
  }

  private static ObjectNode putPlant(ObjectNode line, PlantRecord.Plant plant) {
    line.put("name", plant.name());
    return plant.tag() == null ? line : line.put("tag", plant.tag());
  }
}
