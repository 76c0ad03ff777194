import { randomUUID } from 'node:crypto'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Span } from '@plant-store/shared/protocol/list.ts'
import type { ApplyCall } from '@plant-store/shared/read-model/apply.ts'
import type { SwitchCall } from '@plant-store/shared/read-model/generations.ts'
import { SCRIPTS } from '@plant-store/shared/read-model/redis.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { type LogBatch, logs } from '../support/generated-logs.ts'
import { MAX_INT64, MIN_INT64 } from '../support/generated-plants.ts'
import { openRedis } from '../support/plant-store.ts'
import { beginScript, dropScript, markScript, spanScript, stateScript, switchScript } from './generation-scripts.ts'
import { asStored, openRealPartition } from './real-partition.ts'
import {
  type ApplyOutcome,
  applyScript,
  checkpointScript,
  copyKeys,
  emptyKeys,
  listScript,
  lookUpScript,
  type PartitionKeys,
  wholeGeneration,
} from './redis-scripts.ts'

/** All results of the writing scripts. */
const OUTCOMES = {
  apply: ['OK', 'STALE', 'GONE', 'FOLD', 'PARTITIONS'],
  begin: ['started', 'resumed', 'nameTaken', 'FOLD', 'PARTITIONS'],
  mark: ['marked', 'gone', 'live'],
  switch: ['switched', 'gone', 'unmarked', 'changed', 'fellBack', 'behind', 'FOLD'],
  drop: ['dropped', 'live', 'filling'],
}
const HISTORIES = 500
const LIMIT_MS = 600_000
const STEPS = 60

type Apply = {
  do: 'apply'
  to: 'live' | 'filling' | number
  batch: 'following' | number
  expected: 'right' | Offset
  foldVersion: number
  partitions: number
  freshGeneration: 'new' | number
}
/** `named` is mostly the generation that is being filled. */
type Rebuild =
  | { do: 'begin'; freshName: 'new' | number; foldVersion: number; partitions: number }
  | { do: 'mark'; named: 'filling' | number; mark: string }
  | { do: 'read state'; named: 'live' | 'filling' | number }
  | ({ do: 'read span'; named: 'filling' | number } & Span)
  | ({ do: 'switch'; named: 'filling' | number; expectedLive: 'right' | '' | number } & Pick<
      SwitchCall,
      'mark' | 'verified'
    > & {
        foldVersion: number
      })
  | { do: 'drop'; named: 'filling' | number; abandon: boolean }
type Change =
  | { do: 'lose pointer' | 'lose everything' | 'take snapshot' | 'fall back' }
  | { do: 'lose generation'; named: number }
  | { do: 'lose key'; named: number; key: 'plants' | 'order' }
  | { do: 'point'; to: number }
/** A generation is chosen by a number, among all names ever used and one new name. */
type Step =
  | Apply
  | { do: 'look up'; ids: PlantId[] }
  | ({ do: 'list' } & Span)
  | { do: 'read checkpoint' }
  | Rebuild
  | Change
type Both<T> = { real: T; model: T }

/** Mostly `usual`: the value that the product uses. */
const mostly = <A, B>(usual: A, weight: number, rest: fc.Arbitrary<B>) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rest })

const numbers = fc.nat(7)
const applies: fc.Arbitrary<Apply> = fc.record({
  do: fc.constant('apply'),
  to: fc.oneof(mostly('live' as const, 2, numbers), fc.constant('filling' as const)),
  batch: mostly('following' as const, 3, numbers),
  expected: mostly(
    'right' as const,
    4,
    fc.integer({ min: -1, max: 12 }).map((offset) => offset as Offset),
  ),
  foldVersion: mostly(2, 9, fc.constantFrom(1, 3)),
  partitions: mostly(6, 9, fc.constantFrom(5, 7)),
  freshGeneration: mostly('new' as const, 4, numbers),
})
/** The ids of the generated logs, and one that has no claim. */
const ids = fc.constantFrom(MIN_INT64, -1n, 0n, 1n, 2n ** 53n, 2n ** 53n + 1n, MAX_INT64).map((id) => id as PlantId)
/** Within the list, at its end and far after it. */
const froms = fc.oneof({ weight: 9, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.constant(2 ** 48 - 1) })
const changes: fc.Arbitrary<Change> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('take snapshot', 'fall back', 'lose pointer') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('lose everything') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('lose generation'), named: numbers }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('lose key'),
      named: numbers,
      key: fc.constantFrom('plants' as const, 'order' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('point'), to: numbers }) },
)
const named = mostly('filling' as const, 4, numbers)
const foldVersion = mostly(2, 4, fc.constantFrom(1, 3))
const marks = mostly('one mark', 4, fc.constant('another'))
/** A switch needs a generation that is marked: without more of both, few histories reach its outcomes. */
const often = <T>(arbitrary: fc.Arbitrary<T>) => ({ weight: 4, arbitrary })
const rebuilds: fc.Arbitrary<Rebuild> = fc.oneof(
  fc.record({
    do: fc.constant('begin'),
    freshName: mostly('new' as const, 4, numbers),
    foldVersion,
    partitions: mostly(6, 9, fc.constantFrom(5, 7)),
  }),
  often(fc.record({ do: fc.constant('mark'), named, mark: marks })),
  fc.record({ do: fc.constant('read state'), named: fc.oneof(fc.constant('live'), named) }),
  fc.record({ do: fc.constant('read span'), named, from: froms, count: fc.integer({ min: 1, max: 7 }) }),
  often(
    fc.record({
      do: fc.constant('switch'),
      named,
      mark: marks,
      expectedLive: mostly('right' as const, 2, fc.oneof(numbers, fc.constant('' as const))),
      verified: fc.integer({ min: -1, max: 6 }).map((offset) => offset as Offset),
      foldVersion: mostly(2, 2, fc.constantFrom(1, 3)),
    }),
  ),
  fc.record({ do: fc.constant('drop'), named, abandon: fc.boolean() }),
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 15, arbitrary: applies },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('look up'), ids: fc.array(ids, { maxLength: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('list'), from: froms, count: fc.nat(7) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read checkpoint') }) },
  { weight: 21, arbitrary: rebuilds },
  { weight: 4, arbitrary: changes },
)

function chooseName(names: readonly string[], number: number | 'new'): string {
  if (number === 'new') return `generation-${names.length}`
  return names[number % (names.length + 1)] ?? 'never-given'
}

/** Resolves the numbers of a step: the next batch of the log, the present checkpoint. */
function callOf(
  { to, batch, expected, freshGeneration, ...scope }: Apply,
  keys: PartitionKeys,
  log: readonly LogBatch[],
  nameOf: (number: number | 'new') => string,
): ApplyCall {
  const generation = to === 'live' ? '' : to === 'filling' ? (keys.filling ?? '') : nameOf(to)
  const { checkpoint } = wholeGeneration(keys, generation || keys.live) ?? { checkpoint: BEFORE_LOG }
  const given =
    batch === 'following'
      ? log.find(({ next }) => next.offset > checkpoint.offset)
      : log[batch % Math.max(log.length, 1)]
  const { records, next } = given ?? { records: [], next: checkpoint }
  const fresh = nameOf(freshGeneration)
  const hasLostKey = keys.generations.has(fresh) && wholeGeneration(keys, fresh) === undefined
  return {
    ...scope,
    generation,
    // The script does not compare the event id of the expected checkpoint.
    expected: { offset: expected === 'right' ? checkpoint.offset : expected, eventId: '' },
    next,
    freshGeneration: hasLostKey ? nameOf('new') : fresh,
    records,
  }
}

/** The same partition twice: in a real Redis and in the model. Each step runs in both. */
async function openPair(redis: Redis, topic: string, partition: Partition, log: readonly LogBatch[]) {
  const real = openRealPartition(redis, topic, partition)
  const names: string[] = []
  let model = emptyKeys()
  let snapshot = { real: await real.takeSnapshot(), model: copyKeys(model) }

  const nameOf = (number: number | 'new') => chooseName(names, number)

  /** Changes of the keys by data loss and failovers, without a script. */
  async function change(step: Change): Promise<void> {
    switch (step.do) {
      case 'lose pointer':
        await real.losePointer()
        model.live = undefined
        break
      case 'lose generation':
        await real.loseGeneration(nameOf(step.named))
        model.generations.delete(nameOf(step.named))
        break
      case 'lose key': {
        const name = nameOf(step.named)
        await real.loseKey(name, step.key)
        const generation = model.generations.get(name)
        if (step.key === 'plants') generation?.plants.clear()
        else generation?.order.splice(0)
        break
      }
      case 'lose everything':
        await real.loseEverything()
        model = emptyKeys()
        break
      case 'point':
        await real.point(nameOf(step.to))
        model.live = nameOf(step.to)
        break
      case 'take snapshot':
        snapshot = { real: await real.takeSnapshot(), model: copyKeys(model) }
        break
      case 'fall back':
        await snapshot.real()
        model = copyKeys(snapshot.model)
    }
  }

  async function apply(step: Apply): Promise<Both<ApplyOutcome>> {
    const call = callOf(step, model, log, nameOf)
    const outcomes = { real: await real.apply(call), model: applyScript(model, call) }
    if (model.live !== undefined && !names.includes(model.live)) names.push(model.live)
    return outcomes
  }

  async function rebuild(step: Rebuild): Promise<Both<unknown>> {
    if (step.do === 'begin') {
      const call = { ...step, freshName: nameOf(step.freshName) }
      const results = { real: await real.begin(call), model: beginScript(model, call) }
      if (model.filling !== undefined && !names.includes(model.filling)) names.push(model.filling)
      return results
    }
    const { named } = step
    const name = named === 'live' ? '' : named === 'filling' ? (model.filling ?? nameOf(0)) : nameOf(named)
    if (step.do === 'mark') return { real: await real.mark(name, step.mark), model: markScript(model, name, step.mark) }
    if (step.do === 'read state') return { real: await real.state(name), model: stateScript(model, name) }
    if (step.do === 'read span') {
      const { from, count } = step
      return { real: await real.span(name, from, count), model: spanScript(model, name, from, count) }
    }
    if (step.do === 'drop')
      return { real: await real.drop(name, step.abandon), model: dropScript(model, name, step.abandon) }
    const { expectedLive: live, mark, verified, foldVersion } = step
    const expectedLive = live === 'right' ? (model.live ?? '') : live === '' ? '' : nameOf(live)
    const call = { generation: name, mark, expectedLive, verified }
    return { real: await real.switchTo(call, foldVersion), model: switchScript(model, call, foldVersion) }
  }

  return {
    stored: async () => ({ real: await real.stored(), model: asStored(model) }),
    end: real.loseEverything,

    /** The results of both; empty when the step runs no script. */
    async take(step: Step): Promise<Both<unknown>> {
      if (step.do === 'apply') return apply(step)
      if (step.do === 'look up') return { real: await real.lookUp(step.ids), model: lookUpScript(model, step.ids) }
      if (step.do === 'list') return { real: await real.list(step), model: listScript(model, step) }
      if (step.do === 'read checkpoint') return { real: await real.readCheckpoint(), model: checkpointScript(model) }
      if (isRebuild(step)) return rebuild(step)
      await change(step)
      return { real: undefined, model: undefined }
    },
  }
}

const isRebuild = (step: Change | Rebuild): step is Rebuild =>
  ['begin', 'mark', 'read state', 'read span', 'switch', 'drop'].includes(step.do)

function openScripts(): Redis {
  const redis = openRedis()
  for (const [name, script] of Object.entries(SCRIPTS)) redis.defineCommand(name, script)
  return redis
}

describe('the model of the Redis scripts', () => {
  it('has the same results as the real scripts, and the same keys after each step', {
    timeout: LIMIT_MS,
  }, async () => {
    const redis = openScripts()
    const topic = `plants-${randomUUID()}`
    const outcomes = new Set<string>()
    let runs = 0
    await fc.assert(
      fc.asyncProperty(logs, fc.array(steps, { maxLength: STEPS, size: 'max' }), async (log, history) => {
        const pair = await openPair(redis, topic, runs++ as Partition, log)
        for (const step of history) {
          const results = await pair.take(step)
          expect(results.model).toEqual(results.real)
          const { real, model } = await pair.stored()
          expect(model).toEqual(real)
          const { is } = (results.real ?? {}) as { is?: string }
          if (is !== undefined) outcomes.add(`${step.do}: ${is}`)
        }
        await pair.end()
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
})
