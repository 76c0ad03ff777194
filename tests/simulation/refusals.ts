import { isDeepStrictEqual } from 'node:util'
import type { ClaimIndex } from '@plant-store/api/src/claim-index/claim-index.ts'
import { assertWithinBounds } from '@plant-store/shared/event-log/log-identity.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Offset } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { WATCH_LOG_EVERY_MS } from '@plant-store/shared/stores/preconditions.ts'
import type { SimulatedProcess } from './clock.ts'
import { ALL, PARTITIONS } from './kafka.ts'
import type { Random } from './random.ts'
import { copyServer } from './redis-scripts.ts'
import { runUntil } from './settle.ts'
import type { World } from './world.ts'

/** States that no service may serve: a service that finds one must halt. */
export const REFUSALS: ((world: World, random: Random) => Promise<void>)[] = [
  refuseAnotherLog,
  refuseTruncatedLog,
  assertFoldVersion,
  refuseMorePartitions,
]

const areHalted = (world: World, processes: readonly (SimulatedProcess | undefined)[]) =>
  processes.every((process) => process !== undefined && world.halted.has(process))

/** A Redis that was folded from another log: services halt before they respond to or change anything. */
async function refuseAnotherLog(world: World, random: Random): Promise<void> {
  const server = world.connectToAnotherLog(random)
  const before = copyServer(server)
  const [api, projector] = [world.apis.length, world.projectors.length]
  void world.startApi(api, random)
  world.startProjector(projector, ALL)
  const strangers = [world.apis[api]?.process, world.projectors[projector]?.process]
  const haveHalted = () => areHalted(world, strangers)
  await runUntil(world, random, haveHalted, 'a service continues with the Redis of another log', false)
  if (world.apis[api]?.api?.isListening) world.broken('an api listens on the Redis of another log')
  if (!isDeepStrictEqual(server, before)) world.broken('the Redis of another log was changed')
}

/** A log that has lost its last records. */
async function refuseTruncatedLog(world: World, random: Random): Promise<void> {
  const partition = ALL.find((p) => world.log.end(p) > 1)
  if (partition === undefined) return
  world.expectHalts()
  world.log.truncate(partition, 1 as Offset)
  for (const { process, claimIndex } of world.started()) watchLog(world, process, claimIndex)
  const followers = [
    ...world.started().filter(({ isStopping }) => !isStopping),
    ...world.projecting().filter(({ follower }) => follower.assigned()?.has(partition)),
  ].map(({ process }) => process)
  await runUntil(world, random, () => areHalted(world, followers), 'a service follows a truncated log')
}

/**
 * The next comparison of the log with what an api has passed, as by `watchPreconditions`: a tail that continues at an
 * offset which the log no longer has receives nothing.
 */
function watchLog({ clock, log, onHalt }: World, process: SimulatedProcess, { passed }: ClaimIndex): void {
  clock.timeOf(process).after(WATCH_LOG_EVERY_MS, () => {
    try {
      assertWithinBounds(
        ALL.map((partition) => [partition, passed(partition)] as const),
        log.ends(),
      )
    } catch (error) {
      onHalt(process, error as Error)
    }
  })
}

/** A read model with a newer fold version. */
async function assertFoldVersion(world: World, random: Random): Promise<void> {
  world.expectHalts()
  for (const { generations } of world.master()) for (const generation of generations.values()) generation.fold++
  const apis = world.listening()
  // Enough plants for both partitions, so that both appliers halt.
  const plants = Array.from({ length: 6 }, (_, n) => BigInt(2_000 + n) as PlantId)
  if (apis[0] === undefined || !plants.some(world.isFolded)) return
  for (const plant of plants) void world.clients.createNew(apis[0], random, plant)
  const projecting = world.projecting()
  const haveHalted = () =>
    projecting.some(({ process }) => world.halted.has(process)) &&
    areHalted(
      world,
      apis.map(({ process }) => process),
    )
  await runUntil(world, random, haveHalted, 'a service continues with a newer fold version')
  const place = world.projectors.length
  world.startProjector(place, ALL)
  const hasHalted = () => areHalted(world, [world.projectors[place]?.process])
  await runUntil(world, random, hasHalted, 'a projector starts on a newer fold version')
}

async function refuseMorePartitions(world: World, random: Random): Promise<void> {
  world.expectHalts()
  const [projector] = world.projecting()
  projector?.follower.rebalance(allPartitions(PARTITIONS + 1), random)
  const hasHalted = () => projector === undefined || areHalted(world, [projector.process])
  await runUntil(world, random, hasHalted, 'a projector follows a topic that grew')
}

/** A rebuild refuses a newer fold version, both at its start and when it appears during the rebuild. */
export async function refuseRebuildOfNewerFold(world: World, random: Random): Promise<void> {
  world.expectHalts()
  const rebuild = world.rebuilds.launch(1_000, false)
  let rounds = random.below(6)
  await runUntil(world, random, () => rounds-- === 0, 'the rounds do not end')
  const ended = rebuild.ended()
  for (const { live, generations } of world.master()) {
    const generation = generations.get(live)
    if (generation !== undefined) generation.fold++
  }
  const folded = copyServer(world.master())
  const again = world.rebuilds.launch(1_000, false)
  const haveEnded = () => rebuild.ended() !== undefined && again.ended() !== undefined
  await runUntil(world, random, haveEnded, 'a rebuild continues beside a newer fold version')
  for (const each of ended === undefined ? [rebuild, again] : [again]) {
    const outcome = each.ended()
    if (outcome?.status === 'rejected' && outcome.reason instanceof PreconditionError) continue
    world.broken(`a rebuild does not refuse a newer fold version: ${JSON.stringify(outcome)}`)
  }
  if (ended !== undefined && !isDeepStrictEqual(world.master(), folded))
    world.broken('a generation of a newer fold version was changed')
}
