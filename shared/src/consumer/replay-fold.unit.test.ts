import fc from 'fast-check'
import { expect, it } from 'vitest'
import { logs } from '../../../tests/support/generated-logs.ts'
import type { LogRecord } from '../plant/plant-created.ts'
import type { Offset, Partition } from '../plant/position.ts'
import { emptyPartition, fold, type Ruling } from '../protocol/first-wins.ts'
import type { ParkedRecord, PlantCreated, PlantRecord } from './plant-record.ts'
import { createReplayFold } from './replay-fold.ts'

const P = 1 as Partition
const MAX_BATCH = 2

const fetched = (record: LogRecord): PlantRecord => ({
  ...record,
  stored: { offset: record.offset, key: null, value: null, headers: {}, timestampMs: 0 },
})

it('a replay delivers the wanted part of the fold of the protocol in log order, with the same counts', async () => {
  await fc.assert(
    fc.asyncProperty(logs, fc.nat(40), async (batches, from) => {
      const given: (PlantCreated | ParkedRecord)[] = []
      const replay = createReplayFold({
        ...{ maxMib: 8, maxEvents: MAX_BATCH, signal: undefined },
        isWanted: (_, offset) => offset >= from,
        async onPlants(events) {
          expect(events.length).toBeLessThanOrEqual(MAX_BATCH)
          given.push(...events)
        },
        onParked: (record) => given.push(record),
      })
      const rulings = { created: 0, repeated: 0, void: 0 }
      const state = emptyPartition()
      const count = (ruling: Ruling): Ruling => {
        rulings[ruling]++
        return ruling
      }
      const records = batches.flatMap((batch) => batch.records)
      const winners = fold(emptyPartition(), records).plants
      fold(state, records, (first, claim) =>
        count(first === undefined ? 'created' : first.eventId === claim.eventId ? 'repeated' : 'void'),
      )
      for (const batch of batches) await replay.apply(P, batch.records.map(fetched))

      const isFirst = ({ offset, claim }: LogRecord) => claim && winners.get(claim.id)?.offset === offset
      const delivered = records.filter((record) => record.parked !== undefined || isFirst(record))
      expect(given.map(({ offset }) => offset)).toEqual(
        delivered.map(({ offset }) => offset).filter((offset: Offset) => offset >= from),
      )
      for (const event of given) {
        const first = event.id === undefined ? undefined : winners.get(event.id)
        if (!('reason' in event))
          expect(event).toMatchObject({ ...first?.plant, eventId: first?.eventId, partition: P })
      }
      const unreadable = [...winners.values()].filter(({ plant }) => plant === undefined).length
      expect(replay.counts()).toEqual({
        ...{ records: records.length, plants: winners.size - unreadable, unreadable },
        ...{ voids: rulings.void, repeated: rulings.repeated, parked: state.parked.size },
        foreign: records.filter(({ claim }) => claim === undefined).length,
      })
    }),
  )
})
