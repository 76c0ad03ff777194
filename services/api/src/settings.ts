import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { Port } from '@plant-store/shared/runtime/settings.ts'
import { SERVICE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { type Static, type TObject, Type } from 'typebox'
import { isOrigin } from './http/allowed-origins.ts'
import { isProxy } from './http/trusted-proxies.ts'

const PARTITION_WINDOW_MIN_BYTES = 65_536
const MAX_TIMEOUT_MS = 600_000
/** Load balancers keep idle connections for up to 4,000 s, and the api has to keep them longer. */
const MAX_KEEP_ALIVE_MS = 4_200_000
const MAX_DRAIN_MS = 120_000

/** Settings of the HTTP interface; docs/reference/settings.md explains each. */
const HTTP_SETTINGS = {
  TRUST_PROXY: listOf(isProxy, 'addresses or CIDRs of proxies, such as 10.0.0.0/8, separated by commas'),
  CORS_ORIGINS: listOf(isOrigin, 'origins such as https://app.example, without a path, separated by commas'),
  BODY_MAX_BYTES: Type.Integer({ minimum: 64, maximum: 1_048_576, default: 65_536 }),
  HEADERS_TIMEOUT_MS: Type.Integer({ minimum: 100, maximum: MAX_TIMEOUT_MS, default: 10_000 }),
  REQUEST_TIMEOUT_MS: Type.Integer({ minimum: 100, maximum: MAX_TIMEOUT_MS, default: 30_000 }),
  ANSWER_TIMEOUT_MS: Type.Integer({ minimum: 100, maximum: MAX_TIMEOUT_MS, default: 30_000 }),
  KEEP_ALIVE_TIMEOUT_MS: Type.Integer({ minimum: 1, maximum: MAX_KEEP_ALIVE_MS, default: 72_000 }),
  CONNECTIONS_MAX: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 10_000 }),
  REQUESTS_MAX: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 10_000 }),
  LISTED_PLANTS_MAX: Type.Integer({ minimum: 1_000, maximum: 1_000_000, default: 10_000 }),
  RATE_LIMIT_PER_MINUTE: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 }),
}
export type HttpSettings = Static<TObject<typeof HTTP_SETTINGS>>

/** Settings of the api; docs/reference/settings.md explains each. */
export const ApiSettings = Type.Object({
  ...SERVICE_SETTINGS,
  PORT: Port(3000),
  OPS_PORT: Port(3100),
  HTTP_TLS_CERT_FILE: Type.Optional(Type.String()),
  HTTP_TLS_KEY_FILE: Type.Optional(Type.String()),
  PLANT_STORE_TOKEN_DIGESTS: Type.Optional(Type.String()),
  PLANT_STORE_TOKEN_DIGESTS_FILE: Type.Optional(Type.String()),
  JWT_ISSUER: Type.Optional(Type.String({ pattern: '^\\S{1,500}$', expected: 'the `iss` of the tokens' })),
  JWT_AUDIENCE: Type.Optional(Type.String({ pattern: '^\\S{1,500}$', expected: 'the `aud` of the tokens' })),
  JWT_JWKS_URL: Type.Optional(
    Type.Refine(Type.String({ expected: 'an http(s) URL without user and password', secret: true }), isPlainHttpUrl),
  ),
  ...HTTP_SETTINGS,
  QUEUE_MAX_MIB: Type.Integer({ minimum: 1, maximum: 1_024, default: 16 }),
  QUEUE_MAX_AGE_MS: Type.Integer({ minimum: 1, maximum: 120_000, default: 8_000 }),
  DRAIN_MS: Type.Integer({ minimum: 0, maximum: MAX_DRAIN_MS, default: 500 }),
  CREATE_DEADLINE_MS: Type.Integer({ minimum: 100, maximum: 120_000, default: 10_000 }),
  READ_DEADLINE_MS: Type.Integer({ minimum: 0, maximum: 120_000, default: 2_000 }),
  WINDOW_MAX_MIB: Type.Integer({ minimum: 1, maximum: 16_384, default: 128 }),
})
export type ApiSettings = Static<typeof ApiSettings>

/** The window's bytes. Throws a PreconditionError if a partition's part has no room for claims with long texts. */
export function windowBytesOf(settings: { WINDOW_MAX_MIB: number; PLANTS_PARTITIONS: number }): number {
  const { WINDOW_MAX_MIB: mib, PLANTS_PARTITIONS: partitions } = settings
  const leastMib = Math.ceil((partitions * PARTITION_WINDOW_MIN_BYTES) / bytesOfMib(1))
  if (mib >= leastMib) return bytesOfMib(mib)
  throw new PreconditionError(
    `settings: WINDOW_MAX_MIB must be at least ${leastMib} for ${partitions} partitions (it is ${mib})`,
  )
}

export const bytesOfMib = (mib: number): number => mib * 1_048_576

/** Splits a comma-separated setting; empty if unset. */
export function listed(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((item) => item.trim())
}

function listOf(isItem: (text: string) => boolean, expected: string) {
  return Type.Optional(Type.Refine(Type.String({ expected }), (text) => listed(text).every(isItem)))
}

// fetch() rejects a URL with credentials, and they would not be secret there.
function isPlainHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}
