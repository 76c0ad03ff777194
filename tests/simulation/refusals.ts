import type { ClaimIndex } from '@plant-store/api/src/claim-index/claim-index.ts'
import { assertWithinBounds } from '@plant-store/shared/event-log/log-identity.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Offset } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { WATCH_LOG_EVERY_MS } from '@plant-store/shared/stores/preconditions.ts'
import type { SimulatedProcess } from './clock.ts'
import type { Random } from './random.ts'
import { runUntil } from './settle.ts'
import { PARTITIONS, type World } from './world.ts'

/** States that no service may serve: a service that finds one must halt. */
export const REFUSALS: ((world: World, random: Random) => Promise<void>)[] = [
  refuseAnotherLog,
  refuseTruncatedLog,
  assertFoldVersion,
  refuseMorePartitions,
]

/** A Redis that was folded from another log: services halt before they respond to or change anything. */
async function refuseAnotherLog(world: World, random: Random): Promise<void> {
  const server = world.connectToAnotherLog(random)
  const before = JSON.stringify(server, withBigints)
  const [api, projector] = [newPlace(world.apis), newPlace(world.projectors)]
  void world.startApi(api, random)
  world.startProjector(projector, allPartitions(PARTITIONS))
  const strangers = [world.apis[api]?.process, world.projectors[projector]?.process]
  const haveHalted = () => strangers.every((process) => process !== undefined && world.halted.has(process))
  if (!(await runUntil(world, random, haveHalted, false))) {
    world.broken('a service continues with the Redis of another log')
  }
  if (world.apis[api]?.api?.isListening) world.broken('an api listens on the Redis of another log')
  if (JSON.stringify(server, withBigints) !== before) world.broken('the Redis of another log was changed')
}

/** A log that has lost its last records. */
async function refuseTruncatedLog(world: World, random: Random): Promise<void> {
  const partition = allPartitions(PARTITIONS).find((p) => world.log.end(p) > 1)
  if (partition === undefined) return
  world.expectHalts()
  world.log.truncate(partition, 1 as Offset)
  for (const { process, claimIndex } of world.started()) watchLog(world, process, claimIndex)
  const followers = [
    ...world.started().filter(({ isStopping }) => !isStopping),
    ...world.projecting().filter(({ follower }) => follower.assigned()?.has(partition)),
  ]
  const haveHalted = () => followers.every(({ process }) => world.halted.has(process))
  if (!(await runUntil(world, random, haveHalted))) world.broken('a service follows a truncated log')
}

/**
 * The next comparison of the log with what an api has passed, as by `watchPreconditions`: a tail that continues at an
 * offset which the log no longer has receives nothing.
 */
function watchLog({ clock, log, onHalt }: World, process: SimulatedProcess, { passed }: ClaimIndex): void {
  clock.timeOf(process).after(WATCH_LOG_EVERY_MS, () => {
    const checkpoints = allPartitions(PARTITIONS).map((partition) => [partition, passed(partition)] as const)
    try {
      assertWithinBounds(checkpoints, log.ends())
    } catch (error) {
      onHalt(process, error as Error)
    }
  })
}

/** A read model with a newer fold version. */
async function assertFoldVersion(world: World, random: Random): Promise<void> {
  world.expectHalts()
  for (const { generations } of world.master().partitions) {
    for (const generation of generations.values()) generation.fold++
  }
  const [api] = world.listening()
  // Enough plants for both partitions, so that both appliers halt.
  const plants = Array.from({ length: 6 }, (_, n) => BigInt(2_000 + n) as PlantId)
  if (api === undefined || !plants.some(world.isFolded)) return
  for (const plant of plants) void world.clients.createNew(api, random, plant)
  const apis = world.listening()
  const haveHalted = () =>
    world.projecting().some(({ process }) => world.halted.has(process)) &&
    apis.every(({ process }) => world.halted.has(process))
  if (!(await runUntil(world, random, haveHalted))) world.broken('a service continues with a newer fold version')
  const place = newPlace(world.projectors)
  world.startProjector(place, allPartitions(PARTITIONS))
  const { process } = world.projectors[place] as { process: SimulatedProcess }
  if (!(await runUntil(world, random, () => world.halted.has(process)))) {
    world.broken('a projector starts on a newer fold version')
  }
}

async function refuseMorePartitions(world: World, random: Random): Promise<void> {
  world.expectHalts()
  const [projector] = world.projecting()
  projector?.follower.rebalance(allPartitions(PARTITIONS + 1), random)
  const hasHalted = () => projector === undefined || world.halted.has(projector.process)
  if (!(await runUntil(world, random, hasHalted))) world.broken('a projector follows a topic that grew')
}

/** A rebuild refuses a newer fold version, both at its start and when it appears during the rebuild. */
export async function refuseRebuildOfNewerFold(world: World, random: Random): Promise<void> {
  world.expectHalts()
  const rebuild = world.rebuilds.launch(1_000, false)
  let rounds = random.below(6)
  await runUntil(world, random, () => rounds-- === 0)
  const ended = rebuild.ended()
  for (const { live, generations } of world.master().partitions) {
    const generation = generations.get(live)
    if (generation !== undefined) generation.fold++
  }
  const folded = JSON.stringify(world.master(), withBigints)
  const again = world.rebuilds.launch(1_000, false)
  const haveEnded = () => rebuild.ended() !== undefined && again.ended() !== undefined
  if (!(await runUntil(world, random, haveEnded))) world.broken('a rebuild continues beside a newer fold version')
  for (const each of ended === undefined ? [rebuild, again] : [again]) {
    const outcome = each.ended()
    if (outcome?.status === 'rejected' && outcome.reason instanceof PreconditionError) continue
    world.broken(`a rebuild does not refuse a newer fold version: ${JSON.stringify(outcome)}`)
  }
  if (ended !== undefined && JSON.stringify(world.master(), withBigints) !== folded)
    world.broken('a generation of a newer fold version was changed')
}

const newPlace = (places: readonly unknown[]) => places.length

const withBigints = (_key: string, value: unknown) =>
  value instanceof Map ? [...value.entries()] : typeof value === 'bigint' ? String(value) : value
