import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseEventId } from '@plant-store/shared/plant/event-id.ts'
import { BEFORE_FIRST, type Offset, offsetOf, type Partition } from '@plant-store/shared/plant/offset.ts'
import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant-id.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { ListedSpan, Span } from '@plant-store/shared/protocol/list.ts'
import { decodeEntry } from '@plant-store/shared/read-model/entry.ts'
import { packRecords } from '@plant-store/shared/read-model/packed-records.ts'
import { listedSpan, type PartitionLookUp } from '@plant-store/shared/read-model/read-model.ts'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { type LogBatch, logs } from '../support/generated-logs.ts'
import { MAX_INT64, MIN_INT64 } from '../support/generated-plants.ts'
import { openRedis } from '../support/plant-store.ts'
import { pointerOf } from '../support/stored-partition.ts'
import {
  type ApplyCall,
  type ApplyOutcome,
  applyScript,
  checkpointScript,
  copyKeys,
  emptyKeys,
  listScript,
  lookUpScript,
  type PartitionKeys,
  type StoredMeta,
} from './redis-scripts.ts'

const HISTORIES = 500
const STEPS = 40
const START: Checkpoint = { offset: BEFORE_FIRST, eventId: '' }

type Apply = {
  do: 'apply'
  to: 'live' | number
  batch: 'following' | number
  expected: 'right' | Offset
  foldVersion: number
  partitions: number
  freshGeneration: 'new' | number
}
type Change =
  | { do: 'lose pointer' | 'lose everything' | 'take snapshot' | 'fall back' }
  | { do: 'lose generation'; named: number }
  | { do: 'point'; to: number }
/** Generations are chosen by a number, among all names ever given (to what is there and what is gone) and one more. */
type Step =
  | Apply
  | { do: 'look up'; ids: PlantId[] }
  | ({ do: 'list' } & Span)
  | { do: 'read checkpoint' }
  | Change
type Both<T> = { real: T; twin: T }

/** Mostly `usual`: what happens in the product. */
const mostly = <A, B>(usual: A, weight: number, rest: fc.Arbitrary<B>) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: rest })

const numbers = fc.nat(7)
const applies: fc.Arbitrary<Apply> = fc.record({
  do: fc.constant('apply'),
  to: mostly('live' as const, 2, numbers),
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
/** Those that the generated logs claim, and one that nobody claims. */
const ids = fc
  .constantFrom(MIN_INT64, -1n, 0n, 1n, 2n ** 53n, 2n ** 53n + 1n, MAX_INT64)
  .map((id) => id as PlantId)
/** Within the list, at its end and far beyond it. */
const froms = fc.oneof(
  { weight: 9, arbitrary: fc.nat(8) },
  { weight: 1, arbitrary: fc.constant(2 ** 48 - 1) },
)
const changes: fc.Arbitrary<Change> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('take snapshot', 'fall back', 'lose pointer') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('lose everything') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('lose generation'), named: numbers }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('point'), to: numbers }) },
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 15, arbitrary: applies },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('look up'), ids: fc.array(ids, { maxLength: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('list'), from: froms, count: fc.nat(7) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read checkpoint') }) },
  { weight: 4, arbitrary: changes },
)

const script = (name: string) => ({
  lua: readFileSync(new URL(`../../shared/src/read-model/${name}`, import.meta.url), 'utf8'),
  numberOfKeys: 1,
})

/** One partition in a real Redis, asked through the product's scripts, and damaged and read past them. */
function openRealPartition(redis: Redis, pointer: string) {
  const prefix = pointer.slice(0, -'live'.length)
  const keys = () => redis.keys(`${prefix}*`)
  const remove = async (names: string[]) => {
    if (names.length > 0) await redis.del(names)
  }

  return {
    async apply(call: ApplyCall): Promise<ApplyOutcome> {
      return outcomeOf(await redis.plantsApply(pointer, ...argumentsOf(call)))
    },

    async lookUp(asked: readonly PlantId[]): Promise<PartitionLookUp> {
      const [checkpoint, ...found] = await redis.plantsLookUpBuffer(pointer, ...asked.map(String))
      const entries = asked.map((id, index) => {
        const bytes = found[index]
        return bytes ? decodeEntry(id, bytes) : undefined
      })
      return { checkpoint: offsetOf(String(checkpoint)), entries }
    },

    async list({ from, count }: Span): Promise<ListedSpan> {
      return listedSpan(await redis.plantsListBuffer(pointer, from, count))
    },

    async readCheckpoint(): Promise<StoredMeta> {
      const [offset, event, partitions, fold, plants, voids, parked, generation] =
        await redis.plantsCheckpoint(pointer)
      return {
        checkpoint: checkpointOf(offset, event),
        partitions: partitions ? Number(partitions) : undefined,
        fold: fold ? Number(fold) : undefined,
        plants: Number(plants),
        voids: Number(voids),
        parked: Number(parked),
        generation: String(generation),
      }
    },

    losePointer: () => remove([pointer]),
    loseGeneration: (generation: string) =>
      remove(['meta', 'plants', 'order', 'parked'].map((key) => `${prefix}${generation}:${key}`)),
    loseEverything: async () => remove(await keys()),
    point: (generation: string) => redis.set(pointer, generation),

    /** Returns what brings all keys back to what they are now. */
    async takeSnapshot(): Promise<() => Promise<void>> {
      const names = await keys()
      const dumps = await Promise.all(names.map((name) => redis.dumpBuffer(name)))
      return async () => {
        await remove(await keys())
        await Promise.all(names.map((name, index) => redis.restore(name, 0, dumps[index] as Buffer)))
      }
    },

    /** Every key, without the prefix, and what it holds. */
    async stored(): Promise<Record<string, unknown>> {
      const read = async (key: string) => [key.slice(prefix.length), await contentOf(redis, key)] as const
      return Object.fromEntries(await Promise.all((await keys()).map(read)))
    },
  }
}

function argumentsOf(call: ApplyCall): (string | number | Buffer)[] {
  const { generation, foldVersion, partitions, expected, next, freshGeneration, records } = call
  const scope = [generation, foldVersion, partitions, expected.offset, next.offset, next.eventId]
  return [...scope, freshGeneration, packRecords(records)]
}

function checkpointOf(offset = '', event = ''): Checkpoint {
  return { offset: offsetOf(offset), eventId: event === '' ? '' : (parseEventId(event) ?? fail(event)) }
}

function fail(what: string): never {
  throw new Error(`the scripts do not say such a thing: ${what}`)
}

function outcomeOf([outcome, first, second]: string[]): ApplyOutcome {
  if (outcome === 'OK' || outcome === 'GONE') return { is: outcome }
  if (outcome === 'STALE') return { is: outcome, checkpoint: checkpointOf(first, second) }
  if (outcome === 'FOLD') return { is: outcome, version: Number(first) }
  if (outcome === 'PARTITIONS') return { is: outcome, count: Number(first) }
  return fail(String(outcome))
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  if (key.endsWith(':live')) return redis.get(key)
  if (key.endsWith(':meta')) return redis.hgetall(key)
  if (key.endsWith(':order')) return redis.lrange(key, 0, -1)
  if (key.endsWith(':parked')) return redis.hgetall(key)
  if (!key.endsWith(':plants')) fail(key)
  const entries = Object.entries(await redis.hgetallBuffer(key))
  return Object.fromEntries(
    entries.map(([id, bytes]) => [id, decodeEntry(parsePlantId(id) ?? fail(id), bytes)]),
  )
}

/** What a Redis stores that holds these keys. It keeps no empty key, and counts begin with the first thing counted. */
function asStored({ live, generations }: PartitionKeys): Record<string, unknown> {
  const stored: Record<string, unknown> = live === undefined ? {} : { live }
  for (const [name, generation] of generations) {
    const { checkpoint, fold, partitions, plants, order, parked, parkedCount, voids } = generation
    stored[`${name}:meta`] = {
      checkpoint: String(checkpoint.offset),
      event: checkpoint.eventId,
      fold: String(fold),
      partitions: String(partitions),
      ...(plants.size > 0 && { plants: String(plants.size) }),
      ...(voids > 0 && { voids: String(voids) }),
      ...(parkedCount > 0 && { parked: String(parkedCount) }),
    }
    if (plants.size > 0) stored[`${name}:plants`] = Object.fromEntries(plants)
    if (order.length > 0) stored[`${name}:order`] = order.map(String)
    if (parked.size > 0)
      stored[`${name}:parked`] = Object.fromEntries(
        [...parked].map(([offset, reason]) => [offset, String(reason)]),
      )
  }
  return stored
}

function chooseName(names: readonly string[], number: number | 'new'): string {
  if (number === 'new') return `generation-${names.length}`
  return names[number % (names.length + 1)] ?? 'never-given'
}

/** What the numbers of a step stand for: the batch that follows in the log, the checkpoint that is right now. */
function callOf(
  { to, batch, expected, freshGeneration, ...scope }: Apply,
  { live, generations }: PartitionKeys,
  log: readonly LogBatch[],
  nameOf: (number: number | 'new') => string,
): ApplyCall {
  const generation = to === 'live' ? '' : nameOf(to)
  const { checkpoint } = generations.get(generation || (live ?? '')) ?? { checkpoint: START }
  const given =
    batch === 'following'
      ? log.find(({ next }) => next.offset > checkpoint.offset)
      : log[batch % Math.max(log.length, 1)]
  const { records, next } = given ?? { records: [], next: checkpoint }
  return {
    ...scope,
    generation,
    // The script is not given the event id that a caller expects: any one will do.
    expected: { offset: expected === 'right' ? checkpoint.offset : expected, eventId: '' },
    next,
    freshGeneration: nameOf(freshGeneration),
    records,
  }
}

/** The same partition twice: in a real Redis, and as the twin. Each step is taken by both. */
async function openPair(redis: Redis, pointer: string, log: readonly LogBatch[]) {
  const real = openRealPartition(redis, pointer)
  const names: string[] = []
  let twin = emptyKeys()
  let snapshot = { real: await real.takeSnapshot(), twin: copyKeys(twin) }

  const nameOf = (number: number | 'new') => chooseName(names, number)

  /** What losses, failovers and a rebuild's switch do to the keys, and no script does. */
  async function change(step: Change): Promise<void> {
    switch (step.do) {
      case 'lose pointer':
        await real.losePointer()
        twin.live = undefined
        break
      case 'lose generation':
        await real.loseGeneration(nameOf(step.named))
        twin.generations.delete(nameOf(step.named))
        break
      case 'lose everything':
        await real.loseEverything()
        twin = emptyKeys()
        break
      case 'point':
        await real.point(nameOf(step.to))
        twin.live = nameOf(step.to)
        break
      case 'take snapshot':
        snapshot = { real: await real.takeSnapshot(), twin: copyKeys(twin) }
        break
      case 'fall back':
        await snapshot.real()
        twin = copyKeys(snapshot.twin)
    }
  }

  async function apply(step: Apply): Promise<Both<ApplyOutcome>> {
    const call = callOf(step, twin, log, nameOf)
    const outcomes = { real: await real.apply(call), twin: applyScript(twin, call) }
    if (twin.live !== undefined && !names.includes(twin.live)) names.push(twin.live)
    return outcomes
  }

  return {
    stored: async () => ({ real: await real.stored(), twin: asStored(twin) }),
    end: real.loseEverything,

    /** The answers of both; none when the step asks no script. */
    async take(step: Step): Promise<Both<unknown>> {
      if (step.do === 'apply') return apply(step)
      if (step.do === 'look up')
        return { real: await real.lookUp(step.ids), twin: lookUpScript(twin, step.ids) }
      if (step.do === 'list') return { real: await real.list(step), twin: listScript(twin, step) }
      if (step.do === 'read checkpoint')
        return { real: await real.readCheckpoint(), twin: checkpointScript(twin) }
      await change(step)
      return { real: undefined, twin: undefined }
    },
  }
}

function openScripts(): Redis {
  const redis = openRedis(inject('redisUrl'))
  redis.defineCommand('plantsApply', script('apply.lua'))
  redis.defineCommand('plantsLookUp', script('look-up.lua'))
  redis.defineCommand('plantsList', script('list.lua'))
  redis.defineCommand('plantsCheckpoint', script('checkpoint.lua'))
  return redis
}

describe('the twin of the scripts', () => {
  it('answers as they do, and holds after each step what Redis holds', async () => {
    const redis = openScripts()
    const topic = `plants-${randomUUID()}`
    const outcomes = new Set<unknown>()
    let runs = 0
    await fc.assert(
      fc.asyncProperty(logs, fc.array(steps, { maxLength: STEPS, size: 'max' }), async (log, history) => {
        const pair = await openPair(redis, pointerOf(topic, runs++ as Partition), log)
        for (const step of history) {
          const answers = await pair.take(step)
          expect(answers.twin).toEqual(answers.real)
          const { real, twin } = await pair.stored()
          expect(twin).toEqual(real)
          if (step.do === 'apply') outcomes.add((answers.real as ApplyOutcome).is)
        }
        await pair.end()
      }),
      { numRuns: HISTORIES },
    )
    // Else the histories would have stopped short of a part of the scripts.
    expect(outcomes).toEqual(new Set(['OK', 'STALE', 'GONE', 'FOLD', 'PARTITIONS']))
  })
})
