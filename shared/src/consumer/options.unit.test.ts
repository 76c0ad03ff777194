import { describe, expect, it } from 'vitest'
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

describe('the options of a consumer', () => {
  it('have defaults', () => {
    expect(checkConsumeOptions({ ...GIVEN, topic: undefined } as never)).toMatchObject({
      ...{ topic: 'plants', from: 'beginning', maxBatch: 500, maxAttempts: 5, commitEveryMs: 1_000 },
    })
  })

  it.each<[string, object]>([
    ["brokers must be a list of brokers, each 'host:port'", { brokers: 'localhost:9092' }],
    ["brokers must be a list of brokers, each 'host:port'", { brokers: ['localhost'] }],
    ["brokers must be a list of brokers, each 'host:port'", { brokers: ['::1:9092'] }],
    ["brokers must be a list of brokers, each 'host:port'", { brokers: ['kafka:90922'] }],
    ['groupId must be a name of 1 to 249 characters', { groupId: '' }],
    ['topic must be a Kafka topic name', { topic: 'no topic' }],
    ['topic must be a Kafka topic name', { topic: '..' }],
    ['onPlantCreated must be a function', { onPlantCreated: 'print' }],
    ['set exactly one of onPlantCreated and onPlantsCreated', { onPlantsCreated() {} }],
    ['set exactly one of onPlantCreated and onPlantsCreated', { onPlantCreated: undefined }],
    ['brokers is missing', { brokers: undefined }],
    ['groupId is missing', { groupId: undefined }],
    ['maxBatch must be an integer from 1 to 10000', { maxBatch: 0 }],
    ['maxAttempts must be an integer from 1 to 1000000', { maxAttempts: 1.5 }],
    ['longestRetryMs must not be less than firstRetryMs', { firstRetryMs: 10_000 }],
    ['firstClaims must be the result of inMemory() or inFile()', { firstClaims: 'memory' }],
    ["from must be 'beginning', 'end', { time: a valid Date } or", { from: 'start' }],
    ["from must be 'beginning', 'end', { time: a valid Date } or", { from: { time: new Date('') } }],
    ["from must be 'beginning', 'end', { time: a valid Date } or", { from: { positions: new Map([[0, -1]]) } }],
    ["from must be 'beginning', 'end', { time: a valid Date } or", { from: { positions: { 0: 1 } } }],
    ['ssl must be true, false or options of tls.connect', { ssl: 'yes' }],
    ['log must be an object with debug, info, warn and error', { log: { info() {} } }],
    ['signal must be an AbortSignal', { signal: {} }],
    ['fromBeginning is not an option', { fromBeginning: true }],
    ['is a consumer group of the service itself', { groupId: 'plants-projector' }],
    ['is a consumer group of the service itself', { groupId: 'plants-tail-7' }],
  ])('are rejected: %s', (fault, wrong) => {
    expect(faultOf({ ...GIVEN, ...wrong })).toContain(fault)
  })

  it.each<[string, object]>([
    ['onProgress must be a function', { onProgress: true }],
    ['groupId is not an option', { groupId: 'mine' }],
    ['maxMib must be an integer', { maxMib: 0.5 }],
    ["from must be 'beginning', { time", { from: 'end' }],
  ])('are rejected for a replay: %s', (fault, wrong) => {
    expect(faultOf({ ...REPLAY, ...wrong }, checkReplayOptions)).toContain(fault)
  })

  it('are rejected with all faults in one message', () => {
    expect(faultOf({ maxBatch: 'many' })).toMatch(
      /maxBatch must be .*; brokers is missing; groupId is missing; set exactly one of/,
    )
  })
})
