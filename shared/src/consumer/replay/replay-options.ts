import { PlantConsumerError } from '../plant-consumer-error.ts'
import type { ReplayPlantsOptions } from './replay-plants.ts'

/** Throws a PlantConsumerError that says what is wrong with the options, before anything is connected. */
export function refuseBadOptions(options: ReplayPlantsOptions): void {
  const { brokers, topic, onPlantCreated, onPlantsCreated, from } = options
  if (!Array.isArray(brokers) || brokers.length === 0 || brokers.some((broker) => !/^.+:\d+$/.test(broker))) {
    throw invalid("brokers must be a list of addresses, such as ['localhost:9092']")
  }
  if (topic === '') throw invalid('topic must be the name of a topic')
  if ([onPlantCreated, onPlantsCreated].filter((handler) => typeof handler === 'function').length !== 1) {
    throw invalid('give exactly one of onPlantCreated and onPlantsCreated, a function')
  }
  for (const name of ['maxBatch', 'maxMib', 'progressEveryMs'] as const) {
    const value = options[name]
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      throw invalid(`${name} must be a whole number above 0`)
  }
  if (from === undefined || from === 'beginning') return
  const { time, positions } = Object(from) as { time?: unknown; positions?: unknown }
  const isTime = time instanceof Date && !Number.isNaN(time.getTime())
  const isPositions = positions instanceof Map
  if (!isTime && !isPositions)
    throw invalid("from must be 'beginning', { time: a Date } or { positions: a Map }")
}

/** Positions name the next offset of partitions that the topic has. */
export function refuseUnknownPartitions(positions: ReadonlyMap<number, number>, partitions: number): void {
  for (const [partition, offset] of positions) {
    if (!(Number.isInteger(partition) && partition >= 0 && partition < partitions))
      throw invalid(`from.positions names partition ${partition}, the topic has ${partitions}`)
    if (!(Number.isSafeInteger(offset) && offset >= 0))
      throw invalid(`from.positions: ${offset} is no offset (partition ${partition})`)
  }
}

const invalid = (message: string) => new PlantConsumerError('invalid-options', `options: ${message}`)
