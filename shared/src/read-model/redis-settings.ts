import { Type } from 'typebox'

/** The settings of the connection to Redis; docs/reference/settings.md explains each. */
export const REDIS_SETTINGS = {
  REDIS_URL: Type.String({
    pattern: '^rediss?://.+',
    expected: 'redis://host:port or rediss://user:password@host:port',
    secret: true,
  }),
}
