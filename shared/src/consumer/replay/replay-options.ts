import type { Security } from '../../event-log/connection.ts'
import type { Log } from '../../runtime/log.ts'
import {
  assertNoFaults,
  type Begin,
  beginOfReplay,
  call,
  examine,
  READER_OPTIONS,
  whole,
} from '../options.ts'
import type { PlantCreated } from '../plant-created-event.ts'
import type { ParkedRecord } from '../plant-record.ts'
import type { ReplayProgress } from './replay-progress.ts'

/** Exactly one of the two. */
type OnPlants =
  | { onPlantCreated(event: PlantCreated): unknown; onPlantsCreated?: undefined }
  /** Events of one partition in order, at most `maxBatch` at once. */
  | { onPlantsCreated(events: PlantCreated[]): unknown; onPlantCreated?: undefined }

export type ReplayPlantsOptions = OnPlants &
  Security & {
    /** `host:port` of some of the brokers. */
    brokers: readonly string[]
    /** `plants` if not told. */
    topic?: string
    clientId?: string
    /** Warnings and errors go to the console if it is not given. */
    log?: Log
    /** How many events come at once at most: 1,000 if not told. */
    maxBatch?: number
    /** Is given the records that tell of no plant. */
    onParked?(record: ParkedRecord): unknown
    /** Told every so often, a second if not told, and at the end. Treated as a handler. */
    onProgress?(progress: ReplayProgress): unknown
    progressEveryMs?: number
    /**
     * What is delivered: all, or what was written from a time or from positions on. The whole log is read in any case,
     * since only that tells who was first.
     */
    from?: Exclude<Begin, 'end'>
    /** For the first claims of all plants: 1,024 MiB if not told, about 25 million plants. */
    maxMib?: number
    /** Breaks the replay off. */
    signal?: AbortSignal
  }

const HOUR_MS = 3_600_000

const OPTIONS = {
  ...READER_OPTIONS,
  onProgress: call,
  progressEveryMs: whole(1, HOUR_MS),
  from: beginOfReplay,
  maxMib: whole(1, 1_048_576),
}

const DEFAULTS = {
  topic: 'plants',
  clientId: 'plant-replay',
  from: 'beginning' as Exclude<Begin, 'end'>,
  maxBatch: 1_000,
  maxMib: 1_024,
  progressEveryMs: 1_000,
}

export type CheckedReplayOptions = ReplayPlantsOptions & typeof DEFAULTS

/** Throws a PlantConsumerError that names every option that is missing or wrong, with what is expected. */
export function checkReplayOptions(options: ReplayPlantsOptions): CheckedReplayOptions {
  const { given, faults } = examine(options, OPTIONS, ['brokers'])
  assertNoFaults(faults)
  return { ...DEFAULTS, ...given }
}
