import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** The settings of Plant Store for its connections to Kafka, as settings of the Java client. */
final class KafkaSettings {
  private static final String MODULES = "org.apache.kafka.common.security.";

  private KafkaSettings() {}

  static String of(String name, String otherwise) {
    String set = System.getenv(name);
    return set == null || set.isEmpty() ? otherwise : set;
  }

  static void addSecurity(Properties settings) throws IOException {
    settings.put("security.protocol", of("KAFKA_SECURITY_PROTOCOL", "PLAINTEXT"));
    settings.put("client.rack", of("KAFKA_CLIENT_RACK", ""));
    String authorities = of("KAFKA_SSL_CA_FILE", null);
    if (authorities != null) {
      settings.put("ssl.truststore.type", "PEM");
      settings.put("ssl.truststore.location", authorities);
    }
    String certificate = of("KAFKA_SSL_CERT_FILE", null);
    if (certificate != null) {
      settings.put("ssl.keystore.type", "PEM");
      settings.put("ssl.keystore.certificate.chain", Files.readString(Path.of(certificate)));
      settings.put("ssl.keystore.key", Files.readString(Path.of(of("KAFKA_SSL_KEY_FILE", ""))));
    }
    String mechanism = of("KAFKA_SASL_MECHANISM", null);
    if (mechanism != null) addLogin(settings, mechanism);
  }

  private static void addLogin(Properties settings, String mechanism) throws IOException {
    settings.put("sasl.mechanism", mechanism);
    if (mechanism.equals("OAUTHBEARER")) {
      String url = of("KAFKA_SASL_OAUTH_TOKEN_URL", "");
      System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", url);
      settings.put("sasl.oauthbearer.token.endpoint.url", url);
      settings.put(
          "sasl.login.callback.handler.class", MODULES + "oauthbearer.OAuthBearerLoginCallbackHandler");
      settings.put("sasl.jaas.config", MODULES + "oauthbearer.OAuthBearerLoginModule required;");
      settings.put("sasl.oauthbearer.client.credentials.client.id", of("KAFKA_SASL_OAUTH_CLIENT_ID", ""));
      settings.put("sasl.oauthbearer.client.credentials.client.secret", secret("KAFKA_SASL_OAUTH_CLIENT_SECRET"));
      String scope = of("KAFKA_SASL_OAUTH_SCOPE", null);
      if (scope != null) settings.put("sasl.oauthbearer.scope", scope);
      return;
    }
    String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
    settings.put(
        "sasl.jaas.config",
        MODULES + module + " required"
            + option("username", of("KAFKA_SASL_USERNAME", ""))
            + option("password", secret("KAFKA_SASL_PASSWORD"))
            + ";");
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
