import type { TableRecord } from '@plant-store/shared/plant/plant-stored.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { expect, it } from 'vitest'
import { plantWith } from '../../../tests/support/generated-plants.ts'
import { claimAt } from '../../../tests/support/small-log.ts'
import { formatDifference } from './difference.ts'
import { verifyTable } from './table-verifier.ts'

const P = 0 as Partition
const RECORDS = [claimAt(0, 1n), claimAt(1, 2n)]
const rowAt = (offset: number, ...claim: Parameters<typeof claimAt>) =>
  ({ offset, row: claimAt(...claim).claim }) as TableRecord
const ROWS = [rowAt(0, 0, 1n), rowAt(1, 1, 2n)]

type Given = { rows: TableRecord[]; readLatest?: () => Promise<ReadonlyMap<Partition, { offset: Offset }>> }

/** The differences between the log of two plants, both in the read model, and these rows. */
async function differences({ rows, readLatest = async () => new Map() }: Given): Promise<string[]> {
  const { findings } = await verifyTable([P], {
    readCheckpoints: async () => new Map([[P, { offset: 1 as Offset }]]),
    readLogEnds: async () => [2 as Offset],
    readTableEnds: async () => [rows.length as Offset],
    async readLog(_ranges, onRecords) {
      await onRecords(P, RECORDS)
    },
    async readTable(_ranges, onRecords) {
      await onRecords(P, rows)
    },
    readLatest,
    patience: { everyMs: 1, giveUpAfterMs: 5 },
  })
  return findings.listed.map(formatDifference)
}

it('a table that has the row of each plant has no difference', async () => {
  expect(await differences({ rows: ROWS })).toEqual([])
})

it.each<[string, TableRecord[], string]>([
  ['a row of another log', [...ROWS, rowAt(2, 0, 777n)], 'plant 777 is not in the log: the table has {'],
  [
    'a row with another name',
    [...ROWS, rowAt(2, 0, 1n, { plant: plantWith({ name: 'Weed' }) })],
    'plant 1 has another name: expected "plant 1", found "Weed"',
  ],
  [
    'a row with another offset',
    [...ROWS, rowAt(2, 0, 1n, { offset: 999 as Offset })],
    'plant 1 has another offset: expected "0", found "999"',
  ],
  ['a record that is no row', [...ROWS, { offset: 2 as Offset }], 'the record at offset 2 is no row'],
  ['a row that is missing before the latest one', ROWS.slice(1), 'plant 1 is missing: the log has {'],
  ['a row that does not come', ROWS.slice(0, 1), '1 plant of the log not in the table: is a projector running'],
])('%s is a difference', async (_what, rows, text) => {
  expect(await differences({ rows })).toEqual([expect.stringContaining(`partition 0 of the table: ${text}`)])
})

it.each([new Error('no broker responds'), new PreconditionError('the topic is gone')])(
  'a failure to read the table is no difference: %s',
  async (error) => {
    await expect(differences({ rows: [], readLatest: () => Promise.reject(error) })).rejects.toBe(error)
  },
)
