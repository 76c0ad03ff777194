import { expect, it } from 'vitest'
import { type ConsumeOptions, checkConsumeOptions, checkReplayOptions } from './options.ts'

const REPLAY = { brokers: ['localhost:9092', '[::1]:9092'], onPlantCreated() {} }
const GIVEN: ConsumeOptions = { ...REPLAY, groupId: 'search' }

const faultOf = (options: object, check: (options: never) => object = checkConsumeOptions): string => {
  try {
    check(options as never)
  } catch (error) {
    expect(error).toMatchObject({ name: 'PlantConsumerError', code: 'invalid-options' })
    return (error as Error).message
  }
  return 'none'
}

it('the options of a consumer have defaults, also for what is undefined', () => {
  expect(checkConsumeOptions({ ...GIVEN, topic: undefined })).toMatchObject({
    ...{ topic: 'plants', from: 'beginning', maxBatch: 500, maxAttempts: 5, commitEveryMs: 1_000 },
  })
})

const BROKERS = "brokers must be a list of brokers, each 'host:port'"
const FROM = "from must be 'beginning', 'end', { time: a valid Date } or"
it.each<[string, object]>([
  [BROKERS, { brokers: 'localhost:9092' }],
  [BROKERS, { brokers: ['localhost'] }],
  ['groupId must be a name of 1 to 249 characters', { groupId: '' }],
  ['topic must be a Kafka topic name', { topic: 'no topic' }],
  ['onPlantCreated must be a function', { onPlantCreated: 'print' }],
  ['set exactly one of onPlantCreated and onPlantsCreated', { onPlantsCreated() {} }],
  ['maxBatch must be an integer from 1 to 10000', { maxBatch: 0 }],
  ['longestRetryMs must not be less than firstRetryMs', { firstRetryMs: 10_000 }],
  ['firstClaims must be the result of inMemory() or inFile()', { firstClaims: 'memory' }],
  [FROM, { from: 'start' }],
  [FROM, { from: { time: new Date('') } }],
  [FROM, { from: { positions: new Map([[0, -1]]) } }],
  [FROM, { from: { positions: { 0: 1 } } }],
  ['ssl must be true, false or options of tls.connect', { ssl: 'yes' }],
  ['log must be an object with debug, info, warn and error', { log: { info() {} } }],
  ['signal must be an AbortSignal', { signal: {} }],
  ['fromBeginning is not an option', { fromBeginning: true }],
  ['is a consumer group of the service itself', { groupId: 'plants-projector' }],
  ['is a consumer group of the service itself', { groupId: 'plants-tail-7' }],
])('the options of a consumer are rejected: %s', (fault, wrong) => {
  expect(faultOf({ ...GIVEN, ...wrong })).toContain(fault)
})

it('options are rejected with all faults in one message, and those of a consumer for a replay', () => {
  expect(faultOf({ maxBatch: 'many' })).toMatch(
    /maxBatch must be .*; brokers is missing; groupId is missing; set exactly one of/,
  )
  expect(faultOf({ ...GIVEN, from: 'end' }, checkReplayOptions)).toMatch(
    /groupId is not an option; from must be 'beginning', { time/,
  )
})
