import { type Static, type TObject, Type } from 'typebox'
import { HOST_PORTS } from '../runtime/host-port.ts'

const Text = (expected: string) => Type.Optional(Type.String({ expected }))
const Secret = Type.Optional(Type.String({ secret: true }))
const FilePath = Text('the path of a file')
const Addresses = Type.Optional(
  Type.String({ pattern: HOST_PORTS, expected: 'host:port, or several separated by commas' }),
)

/** The settings of the connection to Redis; docs/reference/settings.md explains each. */
export const REDIS_SETTINGS = {
  REDIS_URL: Type.Optional(
    Type.String({
      pattern: '^rediss?://.+',
      expected: 'redis://host:port or rediss://user:password@host:port',
      secret: true,
    }),
  ),
  REDIS_SENTINELS: Addresses,
  REDIS_SENTINEL_NAME: Text('the name of the master at the sentinels'),
  REDIS_SENTINEL_USERNAME: Text('a user of the sentinels'),
  REDIS_SENTINEL_PASSWORD: Secret,
  REDIS_SENTINEL_PASSWORD_FILE: FilePath,
  REDIS_CLUSTER_NODES: Addresses,
  REDIS_TLS: Type.Optional(Type.Enum(['on', 'off'])),
  REDIS_CA_FILE: FilePath,
  REDIS_CERT_FILE: FilePath,
  REDIS_KEY_FILE: FilePath,
  REDIS_USERNAME: Text('a user of Redis'),
  REDIS_PASSWORD: Secret,
  REDIS_PASSWORD_FILE: FilePath,
}

export type RedisSettings = Static<TObject<typeof REDIS_SETTINGS>>

/** The settings of which exactly one says where Redis is. */
export const REDIS_PLACES = ['REDIS_URL', 'REDIS_SENTINELS', 'REDIS_CLUSTER_NODES'] as const
