/** Injected bugs of the simulation that the judge catches in real processes, and a fault that shows each soon. */
export const BUGS_TO_CATCH: readonly (readonly [bug: string, fault: string])[] = [
  ['the verdict is always created', 'api: kill -9'],
  ['the verdict is always a duplicate', 'api: kill -9'],
  ['the last claim wins in the window', 'projector: paused'],
  ['the acknowledgement decides', 'api: kill -9'],
  ['the entry in Redis is ignored', 'projector: kill -9'],
  ["the client's token is ignored", 'projector: paused'],
  ["every create at its deadline is 'not written'", 'two brokers: kill -9'],
  ['a chunk omits its first record', 'redis: FLUSHALL'],
  ['a list starts again where Redis ends', 'projector: paused'],
  ['a list omits the first plant after Redis', 'projector: paused'],
]
