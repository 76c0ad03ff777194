import type { Offset, Partition } from '../plant/position.ts'
import { firstWins, type Ruling } from '../protocol/first-wins.ts'
import { batchesOf } from './batches.ts'
import { type ClaimTable, createClaimTable, memoryOf } from './first-claims/claim-table.ts'
import type { ParkedRecord, PlantCreated, PlantRecord } from './plant-record.ts'

/** Counts of the rulings. Each record is a plant, unreadable, void, repeated or foreign. */
export type ReplayCounts = {
  records: number
  /** First claims of their ids. */
  plants: number
  /** First claims that this release cannot read. Their ids are claimed. */
  unreadable: number
  /** Later claims of an id by other events, readable or not. */
  voids: number
  /** Claims with the event id of the first claim of their id. */
  repeated: number
  /** Records that do not claim an id. */
  foreign: number
  /** All unreadable and foreign records, as the read model counts them. Some of them are also void or repeated. */
  parked: number
}

export type ReplayFoldOptions = {
  maxMib: number
  /** Maximum number of events per call of `onPlants`. */
  maxEvents: number
  isWanted(partition: Partition, offset: Offset): boolean
  onPlants(events: PlantCreated[]): unknown
  onParked: ((record: ParkedRecord) => unknown) | undefined
  signal: AbortSignal | undefined
}

/** Folds the records of a log, first claim wins, and delivers the wanted plants of each partition in log order. */
export function createReplayFold(options: ReplayFoldOptions) {
  const { maxMib, maxEvents, isWanted, onPlants, onParked, signal } = options
  const reserve = memoryOf(maxMib, 'raise maxMib')
  const tables = new Map<Partition, ClaimTable>()
  const counts = { records: 0, plants: 0, unreadable: 0, voids: 0, repeated: 0, foreign: 0, parked: 0 }

  function tableOf(partition: Partition): ClaimTable {
    const table = tables.get(partition) ?? createClaimTable({ reserve, eventIds: true })
    tables.set(partition, table)
    return table
  }

  function count({ claim, parked }: PlantRecord, ruling: Ruling | undefined): void {
    counts.records++
    if (parked !== undefined) counts.parked++
    if (ruling === undefined) counts.foreign++
    else if (ruling === 'void') counts.voids++
    else if (ruling === 'repeated') counts.repeated++
    else if (claim?.plant === undefined) counts.unreadable++
    else counts.plants++
  }

  return {
    /** Applies the next records of a partition; one call at a time. Rejects with the error of a handler. */
    async apply(partition: Partition, records: readonly PlantRecord[]): Promise<void> {
      const table = tableOf(partition)
      const created = new Set<PlantRecord>()
      for (const record of records) {
        const ruling = rule(table, record)
        count(record, ruling)
        if (ruling === 'created') created.add(record)
      }
      const wanted = records.filter(({ offset }) => isWanted(partition, offset))
      const batching = { maxEvents, deliverParked: onParked !== undefined }
      for (const { events, parked } of batchesOf(wanted, partition, (record) => created.has(record), batching)) {
        signal?.throwIfAborted()
        await (parked === undefined ? onPlants(events) : onParked?.(parked))
      }
    },

    counts: (): ReplayCounts => ({ ...counts }),
  }
}

function rule(table: ClaimTable, { offset, claim }: PlantRecord): Ruling | undefined {
  if (claim === undefined) return undefined
  if (table.add(claim) === offset) return firstWins(undefined, claim)
  const eventId = table.eventIdOf(claim.id)
  return firstWins(eventId === undefined ? undefined : { eventId }, claim)
}
