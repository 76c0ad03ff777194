import type { TSchema } from 'typebox'
import { COMMON_SCHEMAS, call, checkGiven, HOUR_MS, that, whole } from './option-schemas.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'
import type { ReplayPlantsOptions } from './replay-plants.ts'

const SCHEMAS: Record<keyof ReplayPlantsOptions, TSchema> = {
  ...COMMON_SCHEMAS,
  onProgress: call,
  progressEveryMs: whole(1, HOUR_MS),
  maxMib: whole(1, 1_048_576),
  from: that("'beginning', { time: a valid Date } or { positions: a Map }", isFrom),
}

/** Throws a PlantConsumerError that says what is wrong with the options, before anything is connected. */
export function refuseBadOptions(options: ReplayPlantsOptions): void {
  const { given, faults } = checkGiven(options, SCHEMAS)
  const names = new Set(given.map(([name]) => name))
  if (!names.has('brokers')) faults.push('brokers is missing')
  if (names.has('onPlantCreated') === names.has('onPlantsCreated')) {
    faults.push('give exactly one of onPlantCreated and onPlantsCreated')
  }
  if (faults.length > 0) throw invalid(faults.join('; '))
}

function isFrom(from: unknown): boolean {
  if (from === 'beginning') return true
  const { time, positions } = Object(from) as { time?: unknown; positions?: unknown }
  if (time !== undefined)
    return positions === undefined && time instanceof Date && !Number.isNaN(time.getTime())
  return positions instanceof Map
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
