import type { FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type Claim, type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Store } from '../store/open-store.ts'
import { recordedTime } from '../terminal/recorded-time.ts'
import { safeText } from '../terminal/safe-text.ts'

/** What the log says of one id up to some place; without `first` nothing created it. */
export type PlantAsOf = {
  id: PlantId
  partition: Partition
  /** The last offset looked at, -1 for none. */
  upTo: number
  first: { claim: Claim; timestampMs: number } | undefined
}

const TEXT_CHARACTERS = 1_000

type TimedRecord = LogRecord & { timestampMs: number }

const keyOf = (id: PlantId) => Buffer.from(String(id), 'latin1')

export const partitionOfId = (id: PlantId, partitions: number): Partition =>
  partitionOf(keyOf(id), partitions)

/** Looks for the first claim of an id, in its partition up to before the end given there. */
export async function plantAsOf(
  store: Store,
  id: PlantId,
  ends: readonly Offset[],
  signal: AbortSignal,
): Promise<PlantAsOf> {
  const { partitions } = store
  const key = keyOf(id)
  const partition = partitionOf(key, partitions)
  const end = ends[partition] as Offset
  const found = new AbortController()
  let first: PlantAsOf['first']
  const reading = replay<TimedRecord>({
    ...store,
    ranges: new Map([[partition, { from: { offset: BEFORE_FIRST, eventId: '' }, end }]]),
    time: systemTime,
    signal: AbortSignal.any([signal, found.signal]),
    read: (record, from) => timedRecord(record, from, partitions, key),
    onRecords(_partition, records) {
      for (const { claim, timestampMs } of records) {
        if (claim !== undefined) first ??= { claim, timestampMs }
      }
      if (first !== undefined) found.abort()
    },
  })
  try {
    await reading
  } catch (error) {
    // What comes after the first claim changes nothing: nobody waits for it.
    if (first === undefined) throw error
  }
  return { id, partition, upTo: end - 1, first }
}

/** Of records with another key nothing is read. */
function timedRecord(
  record: FetchedRecord,
  partition: Partition,
  partitions: number,
  key: Buffer,
): TimedRecord {
  const { offset, timestampMs } = record
  if (record.key?.equals(key) !== true) return { offset, timestampMs }
  return { ...readRecord(record, partition, partitions), timestampMs }
}

export function plantJson({ id, partition, upTo, first }: PlantAsOf): object {
  const about = { id: String(id), state: stateOf(first), partition, upTo }
  if (first === undefined) return about
  const { claim, timestampMs } = first
  const position = `${partition}-${claim.offset}`
  return { ...about, position, event: claim.eventId, at: recordedTime(timestampMs), ...claim.plant }
}

export function plantInWords({ id, partition, upTo, first }: PlantAsOf): string {
  const looked =
    upTo < 0 ? `partition ${partition} had no record then` : `partition ${partition} up to offset ${upTo}`
  if (first === undefined) return `plant ${id} was not there (${looked})\n`
  const { claim, timestampMs } = first
  const { plant, offset, eventId } = claim
  const words = plant === undefined ? 'was there, but this release can’t read its event' : 'was there'
  const texts = Object.entries(plant ?? {}).map(
    ([name, text]) => `  ${name.padEnd(9)}"${safeText(text, TEXT_CHARACTERS)}"\n`,
  )
  const created = `created at ${partition}-${offset}, ${recordedTime(timestampMs)}, by event ${eventId}`
  return `plant ${id} ${words} (${looked})\n${texts.join('')}  ${created}\n`
}

function stateOf(first: PlantAsOf['first']): 'created' | 'unreadable' | 'absent' {
  if (first === undefined) return 'absent'
  return first.claim.plant === undefined ? 'unreadable' : 'created'
}
