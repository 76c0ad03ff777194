/** A Kafka of one node, without topics, reachable from this machine. */
export type TestKafka = {
  /** host:port */
  brokers: string
  /** It keeps its connections and does not respond, like a broker that hangs. Resolves when it has stopped. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** kill -9, then started again on the same port with the same data. Resolves when it serves. */
  crashAndStartAgain(): Promise<void>
  /** Ends it and removes what it stored, also while it is paused. */
  stop(): Promise<void>
}

/** An empty Redis without persistence that does not evict. */
export type TestRedis = {
  url: string
  port: number
  /** kill -9, then started again on the same port with what was last saved. Resolves when it serves. */
  crashAndStartAgain(): Promise<void>
  /** Ends it and removes what it stored. May be called more than once. */
  stop(): Promise<void>
}

export type RedisOptions = {
  /** Another than a free one. */
  port?: number
  /** Further settings, by their names in redis.conf. */
  more?: Record<string, string>
}

/** The source of Kafka and Redis for a run of the tests. All that it gives serves already. */
export type StoreSource = {
  startKafka(): Promise<TestKafka>
  startRedis(options?: RedisOptions): Promise<TestRedis>
  /** Ends at once everything that any process of this run has started, and removes its data. */
  endAll(): void
}
