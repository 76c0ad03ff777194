import { after, FIRST, type Offset, type Partition } from '../../plant/position.ts'
import { firstWins, type Ruling } from '../../protocol/first-wins.ts'
import { type ClaimTable, createClaimTable, memoryOf } from '../first-claims/claim-table.ts'
import { lotsOf } from '../lots.ts'
import type { PlantCreated } from '../plant-created-event.ts'
import type { ParkedRecord, PlantRecord } from '../plant-record.ts'

/** What the records of a log come to. Each record is a plant, unreadable, void, repeated or foreign. */
export type ReplayCounts = {
  records: number
  /** First claims of their ids. */
  plants: number
  /** First claims that this release can't read. Their ids are given away. */
  unreadable: number
  /** Later claims of an id by another event, readable or not. */
  voids: number
  /** The same event as the first claim of its id, once more. */
  repeated: number
  /** Records that claim nothing. */
  foreign: number
  /** All that can't be read or is foreign, as the read model counts them: some of them are also void or repeated. */
  parked: number
}

export type ReplayFoldOptions = {
  maxMib: number
  /** How many events are given on at once. */
  maxEvents: number
  isWanted(partition: Partition, offset: Offset): boolean
  onPlants(events: PlantCreated[]): unknown
  onParked: ((record: ParkedRecord) => unknown) | undefined
  signal: AbortSignal | undefined
}

/** Folds the records of a log by first-wins and gives on what is wanted of it, in the order of each partition. */
export function createReplayFold(options: ReplayFoldOptions) {
  const { maxMib, maxEvents, isWanted, onPlants, onParked, signal } = options
  const memory = memoryOf(maxMib, 'raise maxMib')
  const tables = new Map<Partition, ClaimTable>()
  const next = new Map<Partition, Offset>()
  const counts = { records: 0, plants: 0, unreadable: 0, voids: 0, repeated: 0, foreign: 0, parked: 0 }

  function tableOf(partition: Partition): ClaimTable {
    const table = tables.get(partition) ?? createClaimTable({ memory, eventIds: true })
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
    /**
     * Takes in the next records of a partition; one call at a time. What it has taken in already may come again: a group
     * may be joined anew while a handler is at work. Rejects with what a handler threw.
     */
    async take(partition: Partition, records: readonly PlantRecord[]): Promise<void> {
      const table = tableOf(partition)
      const from = next.get(partition) ?? FIRST
      const due = records.filter(({ offset }) => offset >= from)
      const created = new Set<PlantRecord>()
      for (const record of due) {
        const ruling = rule(table, record)
        count(record, ruling)
        if (ruling === 'created') created.add(record)
      }
      const wanted = due.filter(({ offset }) => isWanted(partition, offset))
      const lots = { maxEvents, giveParked: onParked !== undefined }
      for (const { events, parked } of lotsOf(wanted, partition, (record) => created.has(record), lots)) {
        signal?.throwIfAborted()
        await (parked === undefined ? onPlants(events) : onParked?.(parked))
      }
      const last = due.at(-1)
      if (last !== undefined) next.set(partition, after(last.offset))
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
