import java.util.HashMap;
import java.util.Map;

/** The first claims, in memory: built from offset 0 at each start. */
final class FirstWins {
  enum Ruling { CREATED, REPEATED, VOID }

  private final Map<Long, String> firstEventIds = new HashMap<>();

  /** The rule: the first claim of an id wins. Pass the claims in the order of their partition. */
  Ruling rule(PlantRecord.Claim claim) {
    String first = firstEventIds.putIfAbsent(claim.id(), claim.eventId());
    if (first == null) return Ruling.CREATED;
    return first.equals(claim.eventId()) ? Ruling.REPEATED : Ruling.VOID;
  }
}
