import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { SimulatedApi } from './api.ts'
import type { SimulatedFollower } from './follower.ts'
import { ALL } from './kafka.ts'
import { createRandom, pick, pickByWeight, type Random } from './random.ts'
import { IDS, LARGE_WINDOW, type World, type WorldOptions } from './world.ts'

/** A schedule of events. Each step follows from a separate number, so that steps can be removed. */
export type Schedule = WorldOptions & {
  calm: number
  weights: readonly number[]
  rebuilds: boolean
  /** True if the log is backed up. */
  backups: boolean
  steps: readonly number[]
}

/** Number of apis and projectors. */
export const APIS = 3
const PROJECTORS = 2
const MIN_STEPS = 60
const MAX_STEPS = 260

type Step = (world: World, random: Random) => void
/** Kinds of steps with their relative frequency. A step that does not apply at the moment does nothing. */
type Steps = readonly [weight: number, step: Step][]

/** A step of an api that listens. */
const atApi =
  (step: (world: World, api: SimulatedApi, random: Random) => void): Step =>
  (world, random) => {
    const api = random.pick(world.listening())
    if (api !== undefined) step(world, api, random)
  }

/** A delivery to one of some followers. */
const deliverTo =
  (followersOf: (world: World) => (SimulatedFollower | undefined)[]): Step =>
  (world, random) =>
    random.pick(followersOf(world))?.deliver(random.below(ALL.length) as Partition, random)

const STEPS: Steps = [
  [14, atApi((world, api, random) => world.clients.create(api, random))],
  [26, (world, random) => world.network.proceed(random)],
  [16, deliverTo((world) => world.started().map(({ tail }) => tail))],
  [14, deliverTo((world) => world.projecting().map(({ follower }) => follower))],
  [12, (world) => world.clock.advance(world.clock.untilNext() ?? 0)],
  [8, atApi((world, api, random) => world.clients.read(api, random))],
]
/** Not in every schedule. */
const SWARM_STEPS: Steps = [
  [2, (world, random) => world.clock.advance(pick([1, 100, 1_000, 5_000, 30_000], random))],
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
  [0.3, atApi((world, api, random) => void world.stopApi(api, pick([0, 2_500], random)))],
  [0.7, (world, random) => world.elect(random)],
]
const REBUILD_STEPS: Steps = [
  [2, (world, random) => world.rebuilds.start(random)],
  [16, deliverTo((world) => world.rebuilds.running().map(({ follower }) => follower()))],
]
/** Not in every schedule with rebuilds. */
const SWARM_REBUILD_STEPS: Steps = [
  [0.4, (world, random) => world.rebuilds.stop(random)],
  [0.6, (world, random) => world.rebuilds.crash(random)],
  [1.5, (world, random) => world.damage(random)],
  [0.3, (world, random) => world.rebuilds.leaveOlder(world.master(), random)],
]
const BACKUP_STEPS: Steps = [
  [2, (world, random) => world.backups.start(random)],
  [4, (world, random) => world.backups.commit(random)],
]
const ALL_STEPS = [STEPS, SWARM_STEPS, REBUILD_STEPS, SWARM_REBUILD_STEPS, BACKUP_STEPS].flat()
const SWARM_FACTORS = [0, 0.5, 1, 5]

/** Draws frequencies for one schedule; swarm testing: some steps never happen. */
const drawWeights = (steps: Steps, factors: readonly number[], random: Random) =>
  steps.map(([weight]) => weight * pick(factors, random))

export function scheduleOf(seed: number): Schedule {
  const random = createRandom(seed)
  const calm = pick([0, 0.5, 0.8, 0.95], random)
  const count = MIN_STEPS + random.below(MAX_STEPS - MIN_STEPS)
  const weights = [...drawWeights(STEPS, [0.05, 0.5, 1, 2], random), ...drawWeights(SWARM_STEPS, SWARM_FACTORS, random)]
  const workload = {
    ids: IDS.slice(0, pick([1, 2, IDS.length], random)),
    keyed: pick([0.2, 0.6, 0.9], random),
    repeated: pick([0.1, 0.5], random),
  }
  const windows = pick([[190], [380], [100, 380, 40_000], [LARGE_WINDOW]], random)
  const steps = Array.from({ length: count }, () => random.below(2 ** 32))
  const ending = random.below(2 ** 32)
  const lists = pick([0, 0.3, 0.9], random)
  // Each is drawn from a separate seed, so that it does not change the rest.
  const rebuildRandom = createRandom(seed + 57)
  const drawn = {
    rebuilds: rebuildRandom.chance(0.5),
    refusesAppends: createRandom(seed + 294).chance(0.125),
    hasTable: createRandom(seed + 811).chance(0.25),
    backups: createRandom(seed + 1_307).chance(0.125),
    hasLag: createRandom(seed + 2_003).chance(0.25),
  }
  weights.push(
    ...drawWeights(REBUILD_STEPS, drawn.rebuilds ? [0.5, 1, 2] : [0], rebuildRandom),
    ...drawWeights(SWARM_REBUILD_STEPS, drawn.rebuilds ? SWARM_FACTORS : [0], rebuildRandom),
    ...drawWeights(BACKUP_STEPS, drawn.backups ? [1] : [0], random),
  )
  return { calm, workload: { ...workload, lists }, windows, weights, ...drawn, steps, ending }
}

/** Runs the step that follows from this number. */
export function runStep(world: World, number: number, { calm, weights }: Schedule): void {
  const random = createRandom(number)
  world.network.set(calm, random)
  pickByWeight(ALL_STEPS, weights, random)?.[1](world, random)
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
  const assigned = ALL.filter(() => random.chance(0.8))
  world.startProjector(place, assigned)
}

function rebalance(world: World, random: Random): void {
  const api = random.pick(world.started())
  const projector = random.pick(world.projecting())
  if (random.chance(0.5)) {
    if (random.chance(0.2)) api?.tail.revoke()
    else api?.tail.rebalance(ALL, random)
  } else if (random.chance(0.2)) {
    // A crashed consumer has no partitions until it has joined again.
    projector?.follower.revoke()
    if (projector?.projector.problems().length === 0) world.broken('a projector without partitions reports ready')
  } else {
    const assigned = ALL.filter(() => random.chance(0.7))
    projector?.follower.rebalance(assigned, random)
  }
}
