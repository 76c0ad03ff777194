import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type LogBatch, logs } from '../support/generated-logs.ts'
import { MAX_INT64, MIN_INT64 } from '../support/generated-plants.ts'
import { openReadModel } from '../support/opened-read-model.ts'
import { asStored, openRealPartition } from './real-partition.ts'
import * as scripts from './redis-scripts.ts'

/** The errors of a newer release, and of another number of partitions, begin so. */
const [NEWER, PARTITIONS] = ['folded by a newer release', 'folded from a topic']
/** All results that have a name. */
const OUTCOMES = {
  apply: ['applied', 'stale', 'gone', NEWER, PARTITIONS],
  'read checkpoint': [NEWER, PARTITIONS],
  begin: ['started', 'resumed', 'nameTaken', NEWER, PARTITIONS],
  mark: ['marked', 'gone', 'live'],
  switch: ['switched', 'gone', 'unmarked', 'changed', 'fellBack', 'behind', NEWER],
  drop: ['dropped', 'live', 'filling'],
}
const HISTORIES = 500
const LIMIT_MS = 600_000
const STEPS_OF_HISTORY = 60

const P = 0 as Partition

/** A partition of a real Redis, and the product's read models of a topic with six partitions, and with five. */
async function openReal() {
  const { topic, redis, readModel } = await openReadModel({ partitions: 6 })
  const { readModel: ofFive } = await openReadModel({ topic, partitions: 5 })
  return { ...openRealPartition(redis, topic, P), ...readModel, of: { 6: readModel, 5: ofFive } }
}

/** The same partition in a real Redis and in the model. */
function openPair(real: Awaited<ReturnType<typeof openReal>>, log: readonly LogBatch[]) {
  const model = scripts.emptyKeys()
  const names: string[] = []
  return {
    ...{ real, model, log, snapshot: scripts.emptyKeys() },

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

type Pair = ReturnType<typeof openPair>
type Calls = [real: () => unknown, model: () => unknown]

/** A script that runs in both, given what is generated. */
const step = <T>(weight: number, given: fc.Arbitrary<T>, callsOf: (pair: Pair, given: T) => Calls) => ({
  weight,
  given: given as fc.Arbitrary<unknown>,
  callsOf: callsOf as (pair: Pair, given: unknown) => Calls,
})

/** A change of both without a script. */
const change = <T>(weight: number, given: fc.Arbitrary<T>, make: (pair: Pair, given: T) => void) =>
  step(weight, given, (pair, given) => {
    make(pair, given)
    return [() => pair.real.write(asStored(pair.model)), () => undefined]
  })

/** The result of a call, or the reason why the product refuses it. */
async function resultOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof PreconditionError)) throw error
    const is = [NEWER, PARTITIONS].find((reason) => error.message.includes(reason))
    return { is, message: error.message }
  }
}

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
const partitions = mostly(6, 9, fc.constant(5))
const freshName = mostly('new', 4, numbers)
/** Mostly the generation that is being filled. */
const named = mostly('filling', 4, numbers)
const marks = mostly('one mark', 4, fc.constant('another'))

const STEPS = {
  apply: step(
    60,
    fc.record({
      to: fc.oneof(mostly('live', 2, numbers), fc.constant('filling' as const)),
      batch: mostly('following', 3, numbers),
      expectedOffset: mostly('right', 4, offsets(12)),
      partitions,
      freshName,
    }),
    ({ real, model, log, nameOf }, { to, batch, expectedOffset, freshName, partitions }) => {
      const generation = to === 'filling' ? model.filling : nameOf(to)
      const { checkpoint } = scripts.wholeGeneration(model, generation || model.live) ?? { checkpoint: BEFORE_LOG }
      const given =
        batch === 'following'
          ? log.find(({ next }) => next.offset > checkpoint.offset)
          : log[batch % Math.max(log.length, 1)]
      const { records, next } = given ?? { records: [], next: checkpoint }
      const fresh = nameOf(freshName)
      const hasLostKey = model.generations.has(fresh) && scripts.wholeGeneration(model, fresh) === undefined
      const offset = expectedOffset === 'right' ? checkpoint.offset : expectedOffset
      // The script does not compare the event id of the expected checkpoint.
      const expected = { offset, eventId: '' as const }
      const freshGeneration = hasLostKey ? nameOf('new') : fresh
      const { apply, generations } = real.of[partitions]
      return [
        () =>
          generation === ''
            ? apply(P, expected, next, records, freshGeneration)
            : generations.fill(P, generation, expected, next, records),
        () => scripts.applyScript(model, { generation, partitions, expected, next, freshGeneration, records }),
      ]
    },
  ),
  'look up': step(8, fc.array(ids, { maxLength: 6 }), ({ real, model }, ids) => [
    () => real.lookUpEach([{ partition: P, ids }])[0],
    () => scripts.lookUpScript(model, ids),
  ]),
  list: step(12, fc.record({ from: froms, count: fc.nat(7) }), ({ real, model }, span) => [
    () => real.listEach([{ partition: P, ...span }])[0],
    () => scripts.listScript(model, span),
  ]),
  'read checkpoint': step(8, nothing, ({ real, model }) => [
    () => real.meta(P),
    () => scripts.checkpointScript(model, 6),
  ]),

  // Rebuilds. A switch needs a generation that is marked: without more of both, few histories reach its outcomes.
  begin: step(7, fc.record({ freshName, partitions }), ({ real, model, nameOf }, { freshName, partitions }) => {
    const name = nameOf(freshName)
    return [
      () => real.of[partitions].generations.startFilling(P, name),
      () => scripts.beginScript(model, name, partitions),
    ]
  }),
  mark: step(28, fc.record({ named, mark: marks }), ({ real, model, nameOf }, { named, mark }) => {
    const name = nameOf(named)
    return [() => real.generations.mark(P, name, mark), () => scripts.markScript(model, name, mark)]
  }),
  'read state': step(7, fc.oneof(fc.constant('live' as const), named), ({ real, model, nameOf }, named) => {
    const name = nameOf(named)
    return [() => real.generations.state(P, name), () => scripts.stateScript(model, name)]
  }),
  'read span': step(
    7,
    fc.record({ named, from: froms, count: fc.integer({ min: 1, max: 7 }) }),
    ({ real, model, nameOf }, { named, from, count }) => {
      const name = nameOf(named)
      return [() => real.generations.span(P, name, from, count), () => scripts.spanScript(model, name, from, count)]
    },
  ),
  switch: step(
    28,
    fc.record({
      named,
      mark: marks,
      live: mostly('right', 2, fc.oneof(numbers, fc.constant('none' as const))),
      verified: offsets(6),
    }),
    ({ real, model, nameOf }, { named, live, ...verified }) => {
      const expectedLive = live === 'right' ? model.live : live === 'none' ? '' : nameOf(live)
      const call = { ...verified, generation: nameOf(named), expectedLive }
      return [() => real.generations.switchTo(P, call), () => scripts.switchScript(model, call)]
    },
  ),
  drop: step(7, fc.record({ named, abandon: fc.boolean() }), ({ real, model, nameOf }, { named, abandon }) => {
    const name = nameOf(named)
    return [() => real.generations.drop(P, name, { abandon }), () => scripts.dropScript(model, name, abandon)]
  }),

  // Other releases, losses of data, and failovers.
  'set fold version': change(
    8,
    fc.record({ named: mostly('live', 2, named), version: fc.nat(2) }),
    ({ model, nameOf }, { named, version }) => {
      const generation = model.generations.get(nameOf(named) || model.live)
      if (generation !== undefined) generation.fold = version
    },
  ),
  'lose pointer': change(3, nothing, ({ model }) => {
    model.live = ''
  }),
  'lose generation': change(2, numbers, ({ model, nameOf }, number) => {
    model.generations.delete(nameOf(number))
  }),
  'lose plants': change(1, numbers, ({ model, nameOf }, number) => {
    model.generations.get(nameOf(number))?.plants.clear()
  }),
  'lose order': change(1, numbers, ({ model, nameOf }, number) => {
    model.generations.get(nameOf(number))?.order.splice(0)
  }),
  'lose everything': change(1, nothing, ({ model }) => {
    Object.assign(model, scripts.emptyKeys())
  }),
  point: change(2, numbers, ({ model, nameOf }, number) => {
    model.live = nameOf(number)
  }),
  'take snapshot': change(3, nothing, (pair) => {
    pair.snapshot = scripts.copyKeys(pair.model)
  }),
  'fall back': change(3, nothing, ({ model, snapshot }) => {
    Object.assign(model, scripts.copyKeys(snapshot))
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
  const opened = await openReal()
  const outcomes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(logs, fc.array(steps, { maxLength: STEPS_OF_HISTORY, size: 'max' }), async (log, history) => {
      const pair = openPair(opened, log)
      await opened.write({})
      for (const [name, given] of history) {
        const [callReal, callModel] = STEPS[name].callsOf(pair, given)
        const [real, model] = [await resultOf(callReal), await resultOf(callModel)]
        expect(model).toEqual(real)
        expect(asStored(pair.model)).toEqual(await pair.real.read())
        pair.noteNames()
        const { is } = (real ?? {}) as { is?: string }
        if (is !== undefined) outcomes.add(`${name}: ${is}`)
      }
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
