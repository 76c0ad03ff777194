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

  // Of a digit in an escape Jackson looks at the lower byte only, and would take these for hexadecimal ones. An even
  // number of backslashes before it: the last one begins the escape.
  private static final Pattern ESCAPE_BEYOND_ASCII =
      Pattern.compile("(?<!\\\\)(?:\\\\\\\\)*+\\\\u[0-9A-Fa-f]{0,3}[^\\x00-\\x7f]");

  // Jackson's own limits to numbers, texts and names are off, and so is that to names that are alike to its table: what
  // nobody looks at may be of any size.
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

  /** The plant of a payload that is one for the id in this text. */
  static Optional<PlantRecord.Plant> read(byte[] value, String id) {
    if (value == null) return Optional.empty();
    try {
      Map<String, Object> fields = fieldsOf(decode(value));
      boolean isPlant =
          id.equals(fields.get("id"))
              && isText(fields.get("name"))
              && (!fields.containsKey("tag") || isText(fields.get("tag")));
      if (!isPlant) return Optional.empty();
      return Optional.of(new PlantRecord.Plant((String) fields.get("name"), (String) fields.get("tag")));
    } catch (CharacterCodingException | JsonProcessingException noUtf8OrNoJson) {
      return Optional.empty();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** A new decoder reports what is no UTF-8, where new String(bytes) would put U+FFFD. It leaves a byte order mark. */
  private static String decode(byte[] value) throws CharacterCodingException {
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
  }

  /** Texts as they are, and a mark in place of anything else. The last of equal names counts. */
  private static Map<String, Object> fieldsOf(String text) throws IOException {
    if (ESCAPE_BEYOND_ASCII.matcher(text).find()) return Map.of();
    Map<String, Object> fields = new HashMap<>();
    // Of a text, not of bytes: given bytes, Jackson guesses UTF-16 and UTF-32.
    try (JsonParser parser = JSON.createParser(text)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) return Map.of();
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        boolean isText = parser.nextToken() == JsonToken.VALUE_STRING;
        fields.put(name, isText ? parser.getText() : JsonToken.NOT_AVAILABLE);
        parser.skipChildren();
      }
      // Jackson would leave what comes behind the object unread.
      return parser.nextToken() == null ? fields : Map.of();
    }
  }

  /** length() would count UTF-16 units. A lone surrogate comes of an escape such as \ud800. */
  private static boolean isText(Object value) {
    return value instanceof String text
        && text.codePointCount(0, text.length()) <= MAX_CODE_POINTS
        && text.codePoints().noneMatch(point -> point >= 0xd800 && point <= 0xdfff);
  }
}
