import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** The payload of version 1. */
final class Version1 {
  private static final int MAX_CODE_POINTS = 1_000;
  private static final int MAX_LEVELS = 64;

  // Jackson checks only the low byte of a digit in an escape, so it would accept these as hexadecimal digits. An even
  // number of backslashes comes before it: the last one starts the escape.
  private static final Pattern ESCAPE_BEYOND_ASCII =
      Pattern.compile("(?<!\\\\)(?:\\\\\\\\)*+\\\\u[0-9A-Fa-f]{0,3}[^\\x00-\\x7f]");

  // Jackson's limits for numbers, strings, names and names with equal hashes are off: ignored fields have no limits.
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(MAX_LEVELS)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private Version1() {}

  /** A claim with the plant in its payload, if the payload is readable and has its id. */
  static Optional<PlantRecord.Readable> read(long id, String eventId, byte[] value) {
    if (value == null) return Optional.empty();
    try {
      Map<String, Object> fields = fieldsOf(decode(value));
      boolean isPlant =
          Long.toString(id).equals(fields.get("id"))
              && isText(fields.get("name"))
              && (!fields.containsKey("tag") || isText(fields.get("tag")));
      if (!isPlant) return Optional.empty();
      String name = (String) fields.get("name");
      return Optional.of(new PlantRecord.Readable(id, eventId, name, (String) fields.get("tag")));
    } catch (CharacterCodingException | JsonProcessingException noUtf8OrNoJson) {
      return Optional.empty();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** A new decoder reports invalid UTF-8, where new String(bytes) inserts U+FFFD. It keeps a byte order mark. */
  private static String decode(byte[] value) throws CharacterCodingException {
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
  }

  /** Strings as they are, and a marker for any other value. The last duplicate field counts. */
  private static Map<String, Object> fieldsOf(String text) throws IOException {
    if (ESCAPE_BEYOND_ASCII.matcher(text).find()) return Map.of();
    Map<String, Object> fields = new HashMap<>();
    // From text: given bytes, Jackson guesses UTF-16 and UTF-32.
    try (JsonParser parser = JSON.createParser(text)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) return Map.of();
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        boolean isText = parser.nextToken() == JsonToken.VALUE_STRING;
        fields.put(name, isText ? parser.getText() : JsonToken.NOT_AVAILABLE);
        parser.skipChildren();
      }
      // Jackson would ignore anything after the object.
      return parser.nextToken() == null ? fields : Map.of();
    }
  }

  /** length() would count UTF-16 units. A lone surrogate comes from an escape such as \ud800. */
  private static boolean isText(Object value) {
    return value instanceof String text
        && text.codePointCount(0, text.length()) <= MAX_CODE_POINTS
        && text.codePoints().noneMatch(point -> point >= 0xd800 && point <= 0xdfff);
  }
}
