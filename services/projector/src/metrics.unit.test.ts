import { PARKED } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import type { ApplyResult } from '@plant-store/shared/read-model/apply.ts'
import type { PartitionMeta } from '@plant-store/shared/read-model/read-model.ts'
import { createMetrics } from '@plant-store/shared/runtime/metrics.ts'
import { expect, it } from 'vitest'
import { valuesOf } from '../../../tests/support/metrics-text.ts'
import { addProjectorMetrics } from './metrics.ts'

const P = 0 as Partition
const batch = [PARKED.otherType, undefined, PARKED.badKey, PARKED.otherType].map((parked, n) => ({
  offset: n as Offset,
  ...(parked !== undefined && { parked }),
}))
const meta = (plants: number): PartitionMeta => ({
  checkpoint: BEFORE_LOG,
  plants,
  voids: 2 * plants,
  parked: 3 * plants,
  generation: 'g',
})

/** The metrics of a projector, with a read model whose apply is given. */
function observe(apply: () => Promise<ApplyResult>) {
  const metrics = createMetrics('projector')
  const observer = addProjectorMetrics(metrics)
  const readModel = observer.observeReadModel({ apply, meta: async (partition) => meta(10 ** partition) })
  return {
    readModel,
    applyBatch: () => readModel.apply(P, BEFORE_LOG, BEFORE_LOG, batch, 'g'),
    observeParts: observer.observeParts,
    sample: () => observer.sample({ lag: () => undefined }),
    read: (name: string) => valuesOf(metrics, `plant_store_${name}`),
  }
}

const none = Object.fromEntries(Object.keys(PARKED).map((reason) => [reason, 0]))

it.each<[string, () => Promise<ApplyResult>, counts: number[], parked: Record<string, number>]>([
  ['applied', async () => ({ is: 'applied' }), [4, 0, 0], { ...none, otherType: 2, badKey: 1 }],
  ['stale', async () => ({ is: 'stale', checkpoint: BEFORE_LOG }), [0, 1, 0], none],
  ['failing', () => Promise.reject(new Error('lost')), [0, 0, 1], none],
])('of a batch that is %s, the result counts', async (_what, apply, counts, parked) => {
  const { applyBatch, read, sample } = observe(apply)
  const [expected, found] = await Promise.allSettled([apply(), applyBatch()])
  expect(found).toEqual(expected)
  const names = ['records', 'stale', 'apply_failures'].map((name) => `projector_${name}_total`)
  expect(await Promise.all(names.map(read))).toEqual(counts.map((count) => ({ '': count })))
  expect(await read('projector_parked_total')).toEqual(parked)
  expect(await read('projector_apply_duration_seconds')).toMatchObject({ _count: 1 })
  expect(sample()).toMatchObject({ perSecond: counts[0] === 0 ? 0 : expect.toSatisfy((rate: number) => rate > 0) })
})

it('a table that cannot be read has no lag, and its partitions wait', async () => {
  const { observeParts, read } = observe(async () => ({ is: 'applied' }))
  const table = { lag: () => undefined, waiting: () => 3 }
  observeParts({ checkpoints: () => new Map(), lag: () => 0 }, { isReady: () => true }, table)
  expect([await read('table_lag_records'), await read('table_waiting_partitions')]).toEqual([{}, { '': 3 }])
})

it('the read model is counted in the partitions of this projector only', async () => {
  const { readModel, observeParts, read } = observe(async () => ({ is: 'applied' }))
  const checkpoints = new Map([0, 2, 3].map((partition) => [partition as Partition, BEFORE_LOG]))
  let isReady = true
  observeParts({ checkpoints: () => checkpoints, lag: () => undefined }, { isReady: () => isReady })
  for (const partition of [0, 1, 2]) await readModel.meta(partition as Partition)
  expect(await read('read_model_plants')).toEqual({ '': 101 })
  expect(await read('read_model_voids')).toEqual({ '': 202 })
  expect(await read('read_model_parked')).toEqual({ '': 303 })
  expect(await read('projector_partitions')).toEqual({ '': 3 })
  expect(await read('projector_lag_records')).toEqual({})
  expect(await read('read_model_reachable')).toEqual({ '': 1 })
  isReady = false
  expect(await read('read_model_reachable')).toEqual({ '': 0 })
})
