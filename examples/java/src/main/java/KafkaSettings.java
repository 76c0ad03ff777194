import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;

/** The settings of Plant Store for its connections to Kafka, as settings of the Java client. */
final class KafkaSettings {
  private static final String MODULES = "org.apache.kafka.common.security.";

  /** The client's names of the settings with one value. */
  private static final Map<String, String> NAMES =
      Map.of(
          "KAFKA_SECURITY_PROTOCOL", "security.protocol",
          "KAFKA_CLIENT_RACK", "client.rack",
          "KAFKA_SSL_CA_FILE", "ssl.truststore.location",
          "KAFKA_SASL_MECHANISM", "sasl.mechanism",
          "KAFKA_SASL_OAUTH_TOKEN_URL", "sasl.oauthbearer.token.endpoint.url",
          "KAFKA_SASL_OAUTH_CLIENT_ID", "sasl.oauthbearer.client.credentials.client.id",
          "KAFKA_SASL_OAUTH_SCOPE", "sasl.oauthbearer.scope");

  private KafkaSettings() {}

  static String of(String name, String otherwise) {
    String set = System.getenv(name);
    return set == null || set.isEmpty() ? otherwise : set;
  }

  static void addSecurity(Properties settings) throws IOException {
    for (Map.Entry<String, String> name : NAMES.entrySet()) {
      String value = of(name.getKey(), null);
      if (value != null) settings.put(name.getValue(), value);
    }
    if (settings.containsKey("ssl.truststore.location")) settings.put("ssl.truststore.type", "PEM");
    String certificate = of("KAFKA_SSL_CERT_FILE", null);
    if (certificate != null) {
      settings.put("ssl.keystore.type", "PEM");
      settings.put("ssl.keystore.certificate.chain", Files.readString(Path.of(certificate)));
      settings.put("ssl.keystore.key", Files.readString(Path.of(of("KAFKA_SSL_KEY_FILE", ""))));
    }
    String mechanism = of("KAFKA_SASL_MECHANISM", "");
    if (mechanism.equals("OAUTHBEARER")) {
      System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", of("KAFKA_SASL_OAUTH_TOKEN_URL", ""));
      settings.put("sasl.oauthbearer.client.credentials.client.secret", secret("KAFKA_SASL_OAUTH_CLIENT_SECRET"));
      settings.put(
          "sasl.login.callback.handler.class", MODULES + "oauthbearer.OAuthBearerLoginCallbackHandler");
      settings.put("sasl.jaas.config", MODULES + "oauthbearer.OAuthBearerLoginModule required;");
    } else if (!mechanism.isEmpty()) {
      String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
      String login = option("username", of("KAFKA_SASL_USERNAME", "")) + option("password", secret("KAFKA_SASL_PASSWORD"));
      settings.put("sasl.jaas.config", MODULES + module + " required" + login + ";");
    }
  }

  /** Also from the file that the setting with _FILE names. */
  private static String secret(String name) throws IOException {
    String file = of(name + "_FILE", null);
    return file == null ? of(name, "") : Files.readString(Path.of(file)).replaceAll("[\r\n]+$", "");
  }

  private static String option(String name, String value) {
    return " " + name + "=\"" + value.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }
}
