import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import type { SimulatedApi } from './api.ts'
import { createRandom, pick, pickByWeight, type Random } from './random.ts'
import type { World, WorldOptions } from './world.ts'

/** A schedule of events. Each step follows from a separate number, so that steps can be removed. */
export type Schedule = WorldOptions & {
  calm: number
  /** Without those of rebuilds and backups when there are none. */
  weights: readonly number[]
  rebuilds: boolean
  /** True if the log is backed up. */
  backups: boolean
  steps: readonly number[]
}

/** Number of apis and projectors. */
export const APIS = 3
export const PROJECTORS = 2

type Step = (world: World, random: Random) => void

/** A step of an api that listens. */
const atApi =
  (step: (world: World, api: SimulatedApi, random: Random) => void): Step =>
  (world, random) => {
    const api = random.pick(world.listening())
    if (api !== undefined) step(world, api, random)
  }

/** The kinds of steps with their relative frequency. A step that does not apply at the moment does nothing. */
const STEPS: [weight: number, step: Step][] = [
  [14, atApi((world, api, random) => world.clients.create(api, random))],
  [26, (world, random) => world.network.proceed(random)],
  [16, deliverToTail],
  [14, deliverToProjector],
  [12, (world) => world.clock.advance(world.clock.untilNext() ?? 0)],
  [8, atApi((world, api, random) => world.clients.read(api, random))],
  // Not in every schedule:
  [2, (world, random) => world.clock.advance(random.pick([1, 100, 1_000, 5_000, 30_000]) as number)],
  [3, (world, random) => world.network.lose(random)],
  [1, (world, random) => world.network.repeat(random)],
  [2, restartApi],
  [1.5, restartProjector],
  [3, rebalance],
  [2, (world) => world.snapshot()],
  [1, (world, random) => world.failOver(random)],
  [1, (world, random) => world.reconnect(random)],
  [0.6, (world) => world.empty()],
  [1, (world, random) => world.appendForeign(random)],
  [0.5, (world, random) => world.skip(random)],
  [0.3, atApi((world, api, random) => void world.stopApi(api, random.pick([0, 2_500]) as number))],
  [0.7, (world, random) => world.elect(random)],
]
/** Further steps of schedules with rebuilds. */
const REBUILD_STEPS: typeof STEPS = [
  [2, (world, random) => world.rebuilds.start(random)],
  [16, (world, random) => world.rebuilds.deliver(random)],
  // Not in every one of these schedules:
  [0.4, (world, random) => world.rebuilds.stop(random)],
  [
    0.6,
    (world, random) => {
      const rebuild = random.pick(world.rebuilds.running())
      if (rebuild !== undefined) world.crash(rebuild.process, random)
    },
  ],
  [1.5, (world, random) => world.damage(random)],
  [0.3, (world, random) => world.rebuilds.leaveOlder(world.master(), random)],
]
/** Further steps of schedules with backups. */
const BACKUP_STEPS: typeof STEPS = [
  [2, (world, random) => world.backups.start(random)],
  [4, (world, random) => world.backups.commit(random)],
]
/** Draws the frequencies of one schedule. Steps that are not essential may never happen (swarm testing). */
const drawWeights = (steps: typeof STEPS, essential: number, factors: readonly number[], random: Random) =>
  steps.map(([weight], n) => weight * pick(n < essential ? factors : [0, 0.5, 1, 5], random))

export const weightsOf = (random: Random) => drawWeights(STEPS, 6, [0.05, 0.5, 1, 2], random)
export const rebuildWeightsOf = (random: Random) => drawWeights(REBUILD_STEPS, 2, [0.5, 1, 2], random)

/** The frequencies of the steps of backups, which follow those of rebuilds. */
export function addBackupWeights(weights: number[]): void {
  while (weights.length < STEPS.length + REBUILD_STEPS.length) weights.push(0)
  weights.push(...BACKUP_STEPS.map(([weight]) => weight))
}

const ALL_STEPS = [...STEPS, ...REBUILD_STEPS, ...BACKUP_STEPS]

/** Runs the step that follows from this number. */
export function runStep(world: World, number: number, { calm, weights }: Schedule): void {
  const random = createRandom(number)
  world.network.set(calm, random)
  pickByWeight(ALL_STEPS, weights, random)?.[1](world, random)
}

function deliverToTail(world: World, random: Random): void {
  random.pick(world.started())?.tail.deliver(random.below(world.log.ends().length) as Partition, random)
}

function deliverToProjector(world: World, random: Random): void {
  random.pick(world.projecting())?.follower.deliver(random.below(world.log.ends().length) as Partition, random)
}

function restartApi(world: World, random: Random): void {
  const place = random.below(APIS)
  const running = world.apis[place]
  if (running !== undefined) world.crash(running.process, random)
  void world.startApi(place, random)
}

function restartProjector(world: World, random: Random): void {
  const place = random.below(PROJECTORS)
  const running = world.projectors[place]
  if (running !== undefined) {
    if (random.chance(0.3)) {
      void running.projector.close()
      void running.writer?.close()
    }
    world.crash(running.process, random)
  }
  const all = allPartitions(world.log.ends().length)
  world.startProjector(
    place,
    all.filter(() => random.chance(0.8)),
  )
}

function rebalance(world: World, random: Random): void {
  const all = allPartitions(world.log.ends().length)
  const api = random.pick(world.started())
  const projector = random.pick(world.projecting())
  if (random.chance(0.5)) {
    if (random.chance(0.2)) api?.tail.revoke()
    else api?.tail.rebalance(all, random)
  } else if (random.chance(0.2)) {
    // A crashed consumer has no partitions until it has joined again.
    projector?.follower.revoke()
    if (projector?.projector.problems().length === 0) world.broken('a projector without partitions reports ready')
  } else {
    projector?.follower.rebalance(
      all.filter(() => random.chance(0.7)),
      random,
    )
  }
}
