import { randomUUID } from 'node:crypto'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { SCRIPTS } from '@plant-store/shared/read-model/redis.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../support/generated-logs.ts'
import { MAX_INT64, MIN_INT64 } from '../support/generated-plants.ts'
import { openRedis } from '../support/plant-store.ts'
import { beginScript, dropScript, markScript, spanScript, stateScript, switchScript } from './generation-scripts.ts'
import { asStored, openRealPartition } from './real-partition.ts'
import {
  applyScript,
  checkpointScript,
  copyKeys,
  emptyKeys,
  listScript,
  lookUpScript,
  wholeGeneration,
} from './redis-scripts.ts'

/** All results of the writing scripts. */
const OUTCOMES = {
  apply: ['applied', 'stale', 'gone', 'FOLD', 'PARTITIONS'],
  begin: ['started', 'resumed', 'nameTaken', 'FOLD', 'PARTITIONS'],
  mark: ['marked', 'gone', 'live'],
  switch: ['switched', 'gone', 'unmarked', 'changed', 'fellBack', 'behind', 'FOLD'],
  drop: ['dropped', 'live', 'filling'],
}
const HISTORIES = 500
const LIMIT_MS = 600_000
const STEPS_OF_HISTORY = 60

/** The same partition in a real Redis and in the model. */
async function openPair(redis: Redis, topic: string, partition: Partition, log: readonly LogBatch[]) {
  const real = openRealPartition(redis, topic, partition)
  const model = emptyKeys()
  const names: string[] = []
  const takeSnapshot = async () => ({ real: await real.takeSnapshot(), model: copyKeys(model) })
  return {
    ...{ real, model, log, takeSnapshot, snapshot: await takeSnapshot() },

    /** A number chooses among all names ever used and one that never was. */
    nameOf(chosen: 'live' | 'filling' | 'new' | number): string {
      if (chosen === 'live') return ''
      if (chosen === 'new') return `generation-${names.length}`
      if (chosen === 'filling' && model.filling !== '') return model.filling
      return names[Number(chosen === 'filling' ? 0 : chosen) % (names.length + 1)] ?? 'never-given'
    },

    noteNames(): void {
      for (const name of [model.live, model.filling]) if (name !== '' && !names.includes(name)) names.push(name)
    },
  }
}

type Pair = Awaited<ReturnType<typeof openPair>>
type Results = [real: unknown, model: unknown]

/** A script that runs in both, given what is generated. */
const step = <T>(weight: number, given: fc.Arbitrary<T>, run: (pair: Pair, given: T) => Promise<Results>) => ({
  weight,
  given: given as fc.Arbitrary<unknown>,
  run: run as (pair: Pair, given: unknown) => Promise<Results>,
})

/** A change of both without a script. */
const change = <T>(weight: number, given: fc.Arbitrary<T>, make: (pair: Pair, given: T) => Promise<void>) =>
  step(weight, given, async (pair, given) => {
    await make(pair, given)
    return [undefined, undefined]
  })

/** Mostly `usual`: the value that the product uses. */
const mostly = <const A, B>(usual: A, weight: number, rest: fc.Arbitrary<B>) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rest })

const nothing = fc.constant(undefined)
const numbers = fc.nat(7)
const offsets = (max: number) => fc.integer({ min: -1, max }) as fc.Arbitrary<number> as fc.Arbitrary<Offset>
/** The ids of the generated logs, and one that has no claim. */
const ids = fc.constantFrom(MIN_INT64, -1n, 0n, 1n, 2n ** 53n, 2n ** 53n + 1n, MAX_INT64).map((id) => id as PlantId)
/** Within the list, at its end and far after it. */
const froms = fc.oneof({ weight: 9, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.constant(2 ** 48 - 1) })
const partitions = mostly(6, 9, fc.constantFrom(5, 7))
const freshName = mostly('new', 4, numbers)
/** Mostly the generation that is being filled. */
const named = mostly('filling', 4, numbers)
const marks = mostly('one mark', 4, fc.constant('another'))
const foldVersions = (usual: number) => mostly(2, usual, fc.constantFrom(1, 3))

const STEPS = {
  apply: step(
    60,
    fc.record({
      to: fc.oneof(mostly('live', 2, numbers), fc.constant('filling' as const)),
      batch: mostly('following', 3, numbers),
      expectedOffset: mostly('right', 4, offsets(12)),
      foldVersion: foldVersions(9),
      partitions,
      freshName,
    }),
    async ({ real, model, log, nameOf }, { to, batch, expectedOffset, freshName, ...scope }) => {
      const generation = to === 'filling' ? model.filling : nameOf(to)
      const { checkpoint } = wholeGeneration(model, generation || model.live) ?? { checkpoint: BEFORE_LOG }
      const given =
        batch === 'following'
          ? log.find(({ next }) => next.offset > checkpoint.offset)
          : log[batch % Math.max(log.length, 1)]
      const { records, next } = given ?? { records: [], next: checkpoint }
      const fresh = nameOf(freshName)
      const hasLostKey = model.generations.has(fresh) && wholeGeneration(model, fresh) === undefined
      const offset = expectedOffset === 'right' ? checkpoint.offset : expectedOffset
      // The script does not compare the event id of the expected checkpoint.
      const expected = { offset, eventId: '' as const }
      const freshGeneration = hasLostKey ? nameOf('new') : fresh
      const call = { ...scope, generation, expected, next, freshGeneration, records }
      return [await real.apply(call), applyScript(model, call)]
    },
  ),
  'look up': step(8, fc.array(ids, { maxLength: 6 }), async ({ real, model }, ids) => [
    await real.lookUp(ids),
    lookUpScript(model, ids),
  ]),
  list: step(12, fc.record({ from: froms, count: fc.nat(7) }), async ({ real, model }, span) => [
    await real.list(span),
    listScript(model, span),
  ]),
  'read checkpoint': step(8, nothing, async ({ real, model }) => [
    await real.readCheckpoint(),
    checkpointScript(model),
  ]),

  // Rebuilds. A switch needs a generation that is marked: without more of both, few histories reach its outcomes.
  begin: step(
    7,
    fc.record({ freshName, foldVersion: foldVersions(4), partitions }),
    async ({ real, model, nameOf }, { freshName, ...scope }) => {
      const call = { ...scope, freshName: nameOf(freshName) }
      return [await real.begin(call), beginScript(model, call)]
    },
  ),
  mark: step(28, fc.record({ named, mark: marks }), async ({ real, model, nameOf }, { named, mark }) => {
    const name = nameOf(named)
    return [await real.mark(name, mark), markScript(model, name, mark)]
  }),
  'read state': step(7, fc.oneof(fc.constant('live' as const), named), async ({ real, model, nameOf }, named) => {
    const name = nameOf(named)
    return [await real.state(name), stateScript(model, name)]
  }),
  'read span': step(
    7,
    fc.record({ named, from: froms, count: fc.integer({ min: 1, max: 7 }) }),
    async ({ real, model, nameOf }, { named, from, count }) => {
      const name = nameOf(named)
      return [await real.span(name, from, count), spanScript(model, name, from, count)]
    },
  ),
  switch: step(
    28,
    fc.record({
      named,
      mark: marks,
      live: mostly('right', 2, fc.oneof(numbers, fc.constant('none' as const))),
      verified: offsets(6),
      foldVersion: foldVersions(2),
    }),
    async ({ real, model, nameOf }, { named, live, foldVersion, ...verified }) => {
      const expectedLive = live === 'right' ? model.live : live === 'none' ? '' : nameOf(live)
      const call = { ...verified, generation: nameOf(named), expectedLive }
      return [await real.switchTo(call, foldVersion), switchScript(model, call, foldVersion)]
    },
  ),
  drop: step(7, fc.record({ named, abandon: fc.boolean() }), async ({ real, model, nameOf }, { named, abandon }) => {
    const name = nameOf(named)
    return [await real.drop(name, abandon), dropScript(model, name, abandon)]
  }),

  // Losses of data, and failovers.
  'lose pointer': change(3, nothing, async ({ real, model }) => {
    await real.losePointer()
    model.live = ''
  }),
  'lose generation': change(2, numbers, async ({ real, model, nameOf }, number) => {
    await real.loseGeneration(nameOf(number))
    model.generations.delete(nameOf(number))
  }),
  'lose key': change(
    1,
    fc.record({ number: numbers, key: fc.constantFrom('plants', 'order') }),
    async ({ real, model, nameOf }, { number, key }) => {
      await real.loseKey(nameOf(number), key)
      const generation = model.generations.get(nameOf(number))
      if (key === 'plants') generation?.plants.clear()
      else generation?.order.splice(0)
    },
  ),
  'lose everything': change(1, nothing, async ({ real, model }) => {
    await real.loseEverything()
    Object.assign(model, emptyKeys())
  }),
  point: change(2, numbers, async ({ real, model, nameOf }, number) => {
    await real.point(nameOf(number))
    model.live = nameOf(number)
  }),
  'take snapshot': change(3, nothing, async (pair) => {
    pair.snapshot = await pair.takeSnapshot()
  }),
  'fall back': change(3, nothing, async ({ model, snapshot }) => {
    await snapshot.real()
    Object.assign(model, copyKeys(snapshot.model))
  }),
}
const steps = fc.oneof(
  ...Object.entries(STEPS).map(([name, { weight, given }]) => ({
    weight,
    arbitrary: fc.tuple(fc.constant(name as keyof typeof STEPS), given),
  })),
)

it('the model of the Redis scripts has the same results as the real scripts, and the same keys after each step', {
  timeout: LIMIT_MS,
}, async () => {
  const redis = openRedis()
  for (const [name, script] of Object.entries(SCRIPTS)) redis.defineCommand(name, script)
  const topic = `plants-${randomUUID()}`
  const outcomes = new Set<string>()
  let runs = 0
  await fc.assert(
    fc.asyncProperty(logs, fc.array(steps, { maxLength: STEPS_OF_HISTORY, size: 'max' }), async (log, history) => {
      const pair = await openPair(redis, topic, runs++ as Partition, log)
      for (const [name, given] of history) {
        const [real, model] = await STEPS[name].run(pair, given)
        expect(model).toEqual(real)
        expect(asStored(pair.model)).toEqual(await pair.real.stored())
        pair.noteNames()
        const { is } = (real ?? {}) as { is?: string }
        if (is !== undefined) outcomes.add(`${name}: ${is}`)
      }
      await pair.real.loseEverything()
    }),
    { numRuns: HISTORIES },
  )
  // Otherwise the generated histories would not reach a part of the scripts.
  expect([...outcomes].sort()).toEqual(
    Object.entries(OUTCOMES)
      .flatMap(([script, each]) => each.map((is) => `${script}: ${is}`))
      .sort(),
  )
})
