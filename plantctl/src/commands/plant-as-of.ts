import type { FetchedRecord } from '@plant-store/shared/event-log/follow.ts'
import { replay } from '@plant-store/shared/event-log/replay.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type Claim, type LogRecord, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { formatPosition, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { formatTimestamp } from '@plant-store/shared/runtime/format.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import type { Store } from '../store/open-store.ts'
import { keyOf, partitionOfId } from '../store/read-log.ts'
import { safeText } from '../terminal/safe-text.ts'

/** A plant as the log has it up to some offset. */
export type PlantAsOf = {
  id: PlantId
  partition: Partition
  /** The last offset read, -1 for none. */
  upTo: number
  /** The first claim of the id; undefined when no event created the plant. */
  first: { claim: Claim; timestampMs: number } | undefined
}

type TimedRecord = LogRecord & { timestampMs: number }

const TEXT_CHARACTERS = 1_000

/** Searches the log for the first claim of an id, before the offset that `ends` has for its partition. */
export async function readPlantAsOf(
  store: Store,
  id: PlantId,
  ends: readonly Offset[],
  signal: AbortSignal,
): Promise<PlantAsOf> {
  const { partitions } = store
  const key = keyOf(id)
  const partition = partitionOfId(id, partitions)
  const end = ends[partition] as Offset
  const found = new AbortController()
  let first: PlantAsOf['first']
  try {
    await replay<TimedRecord>({
      ...store,
      ranges: new Map([[partition, { from: BEFORE_LOG, end }]]),
      time: systemTime,
      signal: AbortSignal.any([signal, found.signal]),
      read: (record, from) => readTimed(record, from, partitions, key),
      onRecords(_partition, records) {
        for (const { claim, timestampMs } of records) {
          if (claim !== undefined) first ??= { claim, timestampMs }
        }
        if (first !== undefined) found.abort()
      },
    })
  } catch (error) {
    // The replay is aborted at the first claim: later records cannot change the plant.
    if (first === undefined) throw error
  }
  return { id, partition, upTo: end - 1, first }
}

/** Decodes only records with this key. */
function readTimed(record: FetchedRecord, partition: Partition, partitions: number, key: Buffer): TimedRecord {
  const { offset, timestampMs } = record
  if (record.key?.equals(key) !== true) return { offset, timestampMs }
  return { ...readRecord(record, partition, partitions), timestampMs }
}

export function plantJson({ id, partition, upTo, first }: PlantAsOf): object {
  const common = { id: String(id), state: stateOf(first), partition, upTo }
  if (first === undefined) return common
  const { claim, timestampMs } = first
  const position = formatPosition({ partition, offset: claim.offset })
  return { ...common, position, event: claim.eventId, at: formatTimestamp(timestampMs), ...claim.plant }
}

export function formatPlant({ id, partition, upTo, first }: PlantAsOf): string {
  const range = upTo < 0 ? `partition ${partition} had no records yet` : `partition ${partition} up to offset ${upTo}`
  if (first === undefined) return `plant ${id} did not exist (${range})\n`
  const { claim, timestampMs } = first
  const { plant, offset, eventId } = claim
  const state = plant === undefined ? 'existed, but this release cannot read its event' : 'existed'
  const texts = Object.entries(plant ?? {}).map(
    ([name, text]) => `  ${name.padEnd(9)}"${safeText(text, TEXT_CHARACTERS)}"\n`,
  )
  const position = formatPosition({ partition, offset })
  const created = `created at ${position}, ${formatTimestamp(timestampMs)}, by event ${eventId}`
  return `plant ${id} ${state} (${range})\n${texts.join('')}  ${created}\n`
}

function stateOf(first: PlantAsOf['first']): 'created' | 'unreadable' | 'absent' {
  if (first === undefined) return 'absent'
  return first.claim.plant === undefined ? 'unreadable' : 'created'
}
