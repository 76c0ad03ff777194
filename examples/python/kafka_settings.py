"""The settings of Plant Store for its connections to Kafka, as settings of librdkafka."""

import os
from pathlib import Path

# librdkafka's names of the settings with one value.
NAMES = {
    "KAFKA_SECURITY_PROTOCOL": "security.protocol",
    "KAFKA_SSL_CA_FILE": "ssl.ca.location",
    "KAFKA_SSL_CERT_FILE": "ssl.certificate.location",
    "KAFKA_SSL_KEY_FILE": "ssl.key.location",
    "KAFKA_SASL_MECHANISM": "sasl.mechanisms",
    "KAFKA_SASL_USERNAME": "sasl.username",
    "KAFKA_SASL_OAUTH_TOKEN_URL": "sasl.oauthbearer.token.endpoint.url",
    "KAFKA_SASL_OAUTH_CLIENT_ID": "sasl.oauthbearer.client.id",
    "KAFKA_SASL_OAUTH_SCOPE": "sasl.oauthbearer.scope",
    "KAFKA_CLIENT_RACK": "client.rack",
}
# Secrets, also from the file that a setting with _FILE names.
SECRETS = {
    "KAFKA_SASL_PASSWORD": "sasl.password",
    "KAFKA_SASL_OAUTH_CLIENT_SECRET": "sasl.oauthbearer.client.secret",
}


def security() -> dict[str, str]:
    settings = {name: os.environ[setting] for setting, name in NAMES.items() if os.environ.get(setting)}
    for setting, name in SECRETS.items():
        if file := os.environ.get(f"{setting}_FILE"):
            settings[name] = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
        elif secret := os.environ.get(setting):
            settings[name] = secret
    if settings.get("sasl.mechanisms") == "OAUTHBEARER":
        settings["sasl.oauthbearer.method"] = "oidc"
    return settings
