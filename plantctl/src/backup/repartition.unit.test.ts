import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type RawRecord, storedRecordOf } from '@plant-store/shared/event-log/raw-record.ts'
import { readRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventually } from '../../../tests/support/eventually.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { createFileWriter, recordsOf } from './backup-file.ts'
import { targetOf } from './repartition.ts'

const idOrKey = fc.oneof(
  fc.bigInt({ min: -5n, max: 5n }).map((id) => ({ key: Buffer.from(String(id)), event: newEvent(id, 1) })),
  fc.constantFrom(null, Buffer.from('no id')).map((key) => ({ key, event: newEvent(1n, 1) })),
)
/** A record in the partition of its key, or in any other. */
const placed = fc.record({ content: idOrKey, foreign: fc.boolean(), elsewhere: fc.option(fc.nat()) })

type Placed = typeof placed extends fc.Arbitrary<infer T> ? T : never

function recordOf({ content: { key, event }, foreign }: Placed, n: number): RawRecord {
  const headers = Object.entries(event.headers).map(([name, value]): [Buffer, Buffer] => [Buffer.from(name), value])
  return {
    offset: n as Offset,
    timestamp: String(n),
    key,
    value: event.value,
    headers: headers.filter(([name]) => !foreign || String(name) !== 'ce_type'),
  }
}

/** The first claim of each id, by event id. */
function winnersOf(records: readonly { partition: Partition; record: RawRecord }[], partitions: number) {
  const winners = new Map<bigint, string>()
  for (const { partition, record } of records) {
    const { claim } = readRecord(storedRecordOf(record), partition, partitions)
    if (claim !== undefined && !winners.has(claim.id)) winners.set(claim.id, claim.eventId)
  }
  return winners
}

it('the same claims are the first ones in any number of partitions', () => {
  const counts = fc.integer({ min: 1, max: 30 })
  fc.assert(
    fc.property(fc.array(placed, { maxLength: 30 }), counts, counts, (all, before, after) => {
      const log = all.map((one, n) => {
        const record = recordOf(one, n)
        const own = record.key === null ? 0 : partitionOf(record.key, before)
        return { record, partition: ((one.elsewhere ?? own) % before) as Partition }
      })
      try {
        const moved = log.map(({ record, partition }) => ({
          record,
          partition: targetOf(record, partition, before, after),
        }))
        for (const { partition } of moved) expect(allPartitions(after)).toContain(partition)
        expect(winnersOf(moved, after)).toEqual(winnersOf(log, before))
      } catch (error) {
        expect(error).toBeInstanceOf(PreconditionError)
        expect(after).toBe(1)
      }
    }),
    { numRuns: 2_000 },
  )
})

it('only a piece of each open file is in memory', async () => {
  const [files, records, valueBytes] = [32, 128, 8_192]
  const folder = temporaryFolder()
  const opened: ReturnType<typeof recordsOf>[] = []
  for (const partition of allPartitions(files)) {
    const writer = createFileWriter(folder, partition, 0 as Offset, async () => {})
    for (let offset = 0; offset < records; offset++) {
      const value = randomBytes(valueBytes)
      await writer.add([{ offset: offset as Offset, timestamp: '0', key: null, value, headers: [] }])
    }
    for (const file of await writer.finish(records as Offset)) opened.push(recordsOf(folder, file))
  }
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const before = process.memoryUsage().arrayBuffers
  for (const reading of opened) await reading.next()
  // The buffers of what was read before may be freed in the background.
  await eventually(() => {
    collectGarbage()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan((files * records * valueBytes) / 2)
  })
  for (const reading of opened) await reading.return(undefined)
})
