import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import { checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import { eventIdOf } from './event-ids.ts'
import { beginScript } from './generation-scripts.ts'
import type { Life } from './life.ts'
import { type SimulatedRebuild, startRebuild } from './operator.ts'
import type { Random } from './random.ts'
import type { RedisServer } from './redis.ts'
import { applyScript, type Generation, type PartitionKeys } from './redis-scripts.ts'
import type { CliContext } from './surroundings.ts'

const AT_ONCE_MAX = 2
const OLDER_FOLD = 0
/** With the smaller one each partition is a group of its own, and verified in slices. */
const RECORDS_AT_ONCE = [1_000, 4]

/** Those who rebuild, and what happens to what they work on. */
export function createOperators({
  surroundings,
  newLife,
  say,
  broken,
  mayRefuse,
}: {
  surroundings: CliContext
  newLife(name: string): Life
  say(what: () => string): void
  broken(promise: string): void
  /** Whether there is something that a rebuild has to refuse. */
  mayRefuse(): boolean
}) {
  const { log, rules, freshGeneration } = surroundings
  let rebuilds: SimulatedRebuild[] = []
  let wasDamaged = false

  /** Those that still work; what the others said is looked at once. */
  function running(): SimulatedRebuild[] {
    const ended = rebuilds.filter(({ ended }) => ended() !== undefined)
    for (const { life, ended: outcome } of ended) {
      const text = judge(outcome())
      say(() => `${life.name} has ended: ${text}`)
      life.alive = false
    }
    rebuilds = rebuilds.filter(({ life }) => life.alive)
    return rebuilds
  }

  function judge(outcome: ReturnType<SimulatedRebuild['ended']>): string {
    if (outcome === undefined) return 'not yet'
    if ('failure' in outcome) {
      const { name, message } = outcome.failure
      const mayBe = ['Error', 'RebuildError', ...(mayRefuse() ? ['PreconditionError'] : [])]
      if (!mayBe.includes(name)) broken(`a rebuild fails with ${name}: ${message}`)
      return message
    }
    const different = outcome.finished.find(({ is }) => is === 'different')
    if (different !== undefined && !wasDamaged) {
      broken(`a rebuild finds differences where there are none: ${JSON.stringify(different)}`)
    }
    return outcome.finished.map(({ is }) => is).join()
  }

  const begin = (recordsAtOnceMax: number, fromEmpty: boolean): SimulatedRebuild => {
    const life = newLife('rebuild')
    say(() => `${life.name} begins${fromEmpty ? ', from empty' : ''}`)
    const rebuild = startRebuild(life, { recordsAtOnceMax, fromEmpty }, surroundings)
    rebuilds.push(rebuild)
    return rebuild
  }

  return {
    running,
    begin,

    start(random: Random): void {
      if (running().length < AT_ONCE_MAX) begin(random.pick(RECORDS_AT_ONCE) as number, random.chance(0.7))
    },

    deliver(random: Random): void {
      random
        .pick(running())
        ?.follower()
        ?.deliver(random.below(log.ends().length) as Partition, random)
    },

    stop(random: Random): void {
      const rebuild = random.pick(running())
      if (rebuild === undefined) return
      say(() => `${rebuild.life.name} is broken off`)
      rebuild.stop()
    },

    /** Some generation is no fold of anything any more: not a live one, and not one that is being verified. */
    damage(server: RedisServer, random: Random): void {
      const generations = server.partitions.flatMap(({ live, generations }) =>
        [...generations].filter(
          ([name, { plants, mark }]) => name !== live && plants.size > 0 && !rules.isAwaited(mark),
        ),
      )
      const [name, generation] = random.pick(generations) ?? []
      if (generation === undefined) return
      wasDamaged = true
      random.pick(DAMAGES)?.(generation)
      say(() => `generation ${name} is DAMAGED at ${generation.checkpoint.offset}`)
    },

    /** A rebuild by an older release, which folds in another way, was killed. */
    leaveOlder(server: RedisServer, random: Random): void {
      if (running().length > 0) return
      const partition = random.pick(allPartitions(server.partitions.length)) as Partition
      const keys = server.partitions[partition] as PartitionKeys
      const freshName = freshGeneration()
      const scope = { foldVersion: OLDER_FOLD, partitions: server.partitions.length }
      const begun = beginScript(keys, { ...scope, freshName })
      const [first] = log.records(partition)
      if (begun.is !== 'started' || first === undefined) return
      rules.noteNames(keys)
      const records: LogRecord[] = [{ offset: first.offset, parked: 1 }]
      const call = { generation: freshName, freshGeneration: '', expected: begun.checkpoint, records }
      applyScript(keys, { ...scope, ...call, next: checkpointAt(first.offset, records) })
      say(() => `an older release leaves generation ${freshName}`)
    },
  }
}

const DAMAGES: ((generation: Generation) => void)[] = [
  ({ order }) => void order.pop(),
  ({ plants, order }) => void plants.delete(order[0] as Claim['id']),
  (generation) => void generation.voids++,
  ({ plants }) => {
    for (const [id, claim] of plants) plants.set(id, { ...claim, eventId: eventIdOf('foreigner', 0xffffff) })
  },
  ({ order }) => void order.reverse(),
  ({ parked }) => {
    for (const offset of parked.keys()) parked.set(offset, 99)
  },
]
