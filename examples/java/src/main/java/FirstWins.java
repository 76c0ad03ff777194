import java.util.HashMap;
import java.util.Map;

/** The first claims, in memory: built from offset 0 at each start. */
final class FirstWins {
  enum Ruling {
    CREATED,
    REPEATED,
    VOID
  }

  record Counts(long plants, long unreadable, long voids, long repeated, long foreign) {}

  private final Map<Long, String> firstEventIds = new HashMap<>();
  private long unreadable;
  private long voids;
  private long repeated;
  private long foreign;

  void passOver(PlantRecord.Foreign ignored) {
    foreign++;
  }

  /** The rule: the first claim of an id wins. Pass the claims in the order of their partition. */
  Ruling rule(PlantRecord.Claim claim) {
    String first = firstEventIds.putIfAbsent(claim.id(), claim.eventId());
    if (first == null) {
      if (claim instanceof PlantRecord.Unreadable) unreadable++;
      return Ruling.CREATED;
    }
    if (first.equals(claim.eventId())) {
      repeated++;
      return Ruling.REPEATED;
    }
    voids++;
    return Ruling.VOID;
  }

  Counts counts() {
    return new Counts(firstEventIds.size() - unreadable, unreadable, voids, repeated, foreign);
  }
}
