import type { RedisServer } from './redis.ts'

/** One life of a process, from its start to its crash. */
export type Life = {
  readonly name: string
  alive: boolean
  /** The Redis it is connected to, which after a failover may be the old master. */
  redis: RedisServer
}
