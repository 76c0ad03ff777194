import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.Optional;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.utils.Utils;

/** Classifies a record: docs/reference/events.md in Java. No I/O. */
sealed interface PlantRecord {
  /** It claims no id. */
  record Foreign(String reason) implements PlantRecord {}

  /** It claims its id, whether its payload is readable or not. */
  sealed interface Claim extends PlantRecord {
    long id();

    String eventId();
  }

  /** The tag is null if it is missing. */
  record Readable(long id, String eventId, String name, String tag) implements Claim {}

  record Unreadable(long id, String eventId, String reason) implements Claim {}

  // Both with matches(), which compares the whole text, and [0-9]: Long.parseLong alone accepts "+7", "007" and the
  // digits of all scripts, UUID.fromString accepts "1-1-1-1-1".
  Pattern CANONICAL_INT64 = Pattern.compile("0|-?[1-9][0-9]{0,18}");
  Pattern CANONICAL_UUID = Pattern.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");

  /** The first match decides. Version and payload do not decide whether an id is claimed. */
  static PlantRecord read(ConsumerRecord<byte[], byte[]> stored, int partitions) {
    byte[] key = stored.key();
    Headers headers = stored.headers();
    if (!only(headers, "ce_type").equals(Optional.of("PlantCreated"))) return new Foreign("otherType");
    Optional<Long> id = Optional.ofNullable(key).flatMap(PlantRecord::idOf);
    if (id.isEmpty()) return new Foreign("badKey");
    if (Utils.toPositive(Utils.murmur2(key)) % partitions != stored.partition()) return new Foreign("wrongPartition");
    Optional<String> eventId = only(headers, "ce_id").filter(text -> CANONICAL_UUID.matcher(text).matches());
    if (eventId.isEmpty()) return new Foreign("badEventId");
    if (!only(headers, "content-type").equals(Optional.of("application/json; version=1"))) {
      return new Unreadable(id.get(), eventId.get(), "unknownVersion");
    }
    return Version1.read(id.get(), eventId.get(), stored.value());
  }

  private static Optional<Long> idOf(byte[] key) {
    String text = new String(key, StandardCharsets.ISO_8859_1);
    if (!CANONICAL_INT64.matcher(text).matches()) return Optional.empty();
    try {
      return Optional.of(Long.parseLong(text));
    } catch (NumberFormatException beyondInt64) {
      return Optional.empty();
    }
  }

  /** The value of a header that occurs exactly once. lastHeader() would hide a duplicate. */
  private static Optional<String> only(Headers headers, String name) {
    Iterator<Header> found = headers.headers(name).iterator();
    if (!found.hasNext()) return Optional.empty();
    byte[] content = found.next().value();
    if (content == null || found.hasNext()) return Optional.empty();
    return Optional.of(new String(content, StandardCharsets.ISO_8859_1));
  }
}
