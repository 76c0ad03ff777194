import { randomUUID } from 'node:crypto'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { expect, it } from 'vitest'
import { newPlant } from '../../../tests/support/generated-plants.ts'
import { verifyTable } from './table-verifier.ts'

const P = 0 as Partition
const { id, ...plant } = newPlant(1n)
const claim: Claim = { id, plant, eventId: randomUUID() as EventId, offset: 0 as Offset }

/** Verifies an empty table, whose only row is due: `readLatest` returns the progress of the table. */
function verify(readLatest: () => Promise<ReadonlyMap<Partition, { offset: Offset }>>) {
  return verifyTable([P], {
    readCheckpoints: async () => new Map([[P, { offset: 0 as Offset }]]),
    readLogEnds: async () => [1 as Offset],
    readTableEnds: async () => [0 as Offset],
    async readLog(_ranges, onRecords) {
      await onRecords(P, [{ offset: claim.offset, claim }])
    },
    async readTable() {},
    readLatest,
    patience: { everyMs: 1, giveUpAfterMs: 5 },
  })
}

it('a row that does not come is a difference', async () => {
  const { findings } = await verify(async () => new Map())
  expect(findings.listed).toEqual([{ partition: P, what: 'rowsBehind', plants: 1 }])
})

it.each([new Error('no broker responds'), new PreconditionError('the topic is gone')])(
  'a failure to read the table is no difference: %s',
  async (error) => {
    await expect(verify(() => Promise.reject(error))).rejects.toBe(error)
  },
)
