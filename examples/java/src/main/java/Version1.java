import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

/** The payload of version 1. */
final class Version1 {
  private static final int MAX_CODE_POINTS = 1_000;
  private static final int MAX_LEVELS = 64;

  // Jackson checks only the low byte of a digit in an escape, so it would accept these as hexadecimal digits. An even
  // number of backslashes comes before it: the last one starts the escape.
  private static final Pattern ESCAPE_BEYOND_ASCII =
      Pattern.compile("(?<!\\\\)(?:\\\\\\\\)*+\\\\u[0-9A-Fa-f]{0,3}[^\\x00-\\x7f]");

  // Jackson's limits for numbers, strings, names and names with equal hashes are off: ignored fields have no limits. Its
  // usual parser of large numbers takes quadratic time. It would ignore anything after the object.
  private static final StreamReadConstraints LIMITS =
      StreamReadConstraints.builder()
          .maxNestingDepth(MAX_LEVELS)
          .maxNumberLength(Integer.MAX_VALUE)
          .maxStringLength(Integer.MAX_VALUE)
          .maxNameLength(Integer.MAX_VALUE)
          .build();
  private static final JsonFactory PARSERS =
      JsonFactory.builder()
          .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
          .enable(StreamReadFeature.USE_FAST_BIG_NUMBER_PARSER)
          .streamReadConstraints(LIMITS)
          .build();
  private static final ObjectMapper JSON =
      JsonMapper.builder(PARSERS).enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

  /** Readable, if this is the payload of a plant with this id. */
  static PlantRecord.Claim read(long id, String eventId, byte[] value) {
    PlantRecord.Claim unreadable = new PlantRecord.Unreadable(id, eventId, "unreadablePayload");
    if (value == null) return unreadable;
    try {
      String text = decode(value);
      if (ESCAPE_BEYOND_ASCII.matcher(text).find()) return unreadable;
      // From text: given bytes, Jackson guesses UTF-16 and UTF-32. The last duplicate field counts.
      JsonNode fields = JSON.readTree(text);
      if (!Long.toString(id).equals(fields.path("id").textValue())) return unreadable;
      String name = fields.path("name").textValue();
      String tag = fields.path("tag").textValue();
      boolean isPlant = isText(name) && (!fields.has("tag") || isText(tag));
      return isPlant ? new PlantRecord.Readable(id, eventId, name, tag) : unreadable;
    } catch (CharacterCodingException | JsonProcessingException noUtf8OrNoJson) {
      return unreadable;
    }
  }

  /** A new decoder reports invalid UTF-8, where new String(bytes) inserts U+FFFD. It keeps a byte order mark. */
  private static String decode(byte[] value) throws CharacterCodingException {
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
  }

  /** length() would count UTF-16 units. A lone surrogate comes from an escape such as \ud800. */
  private static boolean isText(String text) {
    return text != null
        && text.codePointCount(0, text.length()) <= MAX_CODE_POINTS
        && text.codePoints().noneMatch(point -> point >= 0xd800 && point <= 0xdfff);
  }
}
