import { type Static, type TObject, Type } from 'typebox'
import { HOST_PORTS } from '../runtime/host-port.ts'

const FilePath = Type.Optional(Type.String({ expected: 'the path of a file' }))
const secret = { secret: true }

/** The settings of the connection to Kafka; docs/reference/settings.md explains each. */
export const KAFKA_SETTINGS = {
  KAFKA_BROKERS: Type.String({
    pattern: HOST_PORTS,
    expected: 'host:port, or several separated by commas',
  }),
  KAFKA_SECURITY_PROTOCOL: Type.Enum(['PLAINTEXT', 'SSL', 'SASL_SSL', 'SASL_PLAINTEXT'], { default: 'PLAINTEXT' }),
  KAFKA_SSL_CA_FILE: FilePath,
  KAFKA_SSL_CERT_FILE: FilePath,
  KAFKA_SSL_KEY_FILE: FilePath,
  KAFKA_SASL_MECHANISM: Type.Optional(Type.Enum(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'])),
  KAFKA_SASL_USERNAME: Type.Optional(Type.String()),
  KAFKA_SASL_PASSWORD: Type.Optional(Type.String(secret)),
  KAFKA_SASL_PASSWORD_FILE: FilePath,
  KAFKA_SASL_OAUTH_TOKEN_URL: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s@]+$', expected: 'an http(s) URL without user and password', ...secret }),
  ),
  KAFKA_SASL_OAUTH_CLIENT_ID: Type.Optional(Type.String()),
  KAFKA_SASL_OAUTH_CLIENT_SECRET: Type.Optional(Type.String(secret)),
  KAFKA_SASL_OAUTH_CLIENT_SECRET_FILE: FilePath,
  KAFKA_SASL_OAUTH_SCOPE: Type.Optional(Type.String()),
  KAFKA_CLIENT_RACK: Type.Optional(Type.String()),
}

export type KafkaSettings = Static<TObject<typeof KAFKA_SETTINGS>>
