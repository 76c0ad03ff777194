import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { flushPromises } from './clock.ts'
import { createRandom } from './random.ts'
import { REFUSALS, refuseRebuildOfNewerFold } from './refusals.ts'
import { addBackupWeights, rebuildWeightsOf, runStep, type Schedule, weightsOf } from './schedule.ts'
import { settle, settleRebuilds } from './settle.ts'
import { createWorld, IDS, LARGE_WINDOW, PARTITIONS } from './world.ts'

export type Played = { broken: string | undefined; lines: string[] }

const MIN_STEPS = 60
const MAX_STEPS = 260

export function scheduleOf(seed: number): Schedule {
  const random = createRandom(seed)
  const calm = random.pick([0, 0.5, 0.8, 0.95]) as number
  const count = MIN_STEPS + random.below(MAX_STEPS - MIN_STEPS)
  const weights = weightsOf(random)
  const workload = {
    ids: IDS.slice(0, random.pick([1, 2, IDS.length])),
    keyed: random.pick([0.2, 0.6, 0.9]) as number,
    repeated: random.pick([0.1, 0.5]) as number,
  }
  const windows = random.pick([[190], [380], [100, 380, 40_000], [LARGE_WINDOW]]) as number[]
  const steps = Array.from({ length: count }, () => random.below(2 ** 32))
  const ending = random.below(2 ** 32)
  const lists = random.pick([0, 0.3, 0.9]) as number
  // Each is drawn from a separate seed, so that it does not change the rest.
  const rebuildRandom = createRandom(seed + 57)
  const drawn = {
    rebuilds: rebuildRandom.chance(0.5),
    refusesAppends: createRandom(seed + 294).chance(0.125),
    hasTable: createRandom(seed + 811).chance(0.25),
    backups: createRandom(seed + 1_307).chance(0.125),
    hasLag: createRandom(seed + 2_003).chance(0.25),
  }
  if (drawn.rebuilds) weights.push(...rebuildWeightsOf(rebuildRandom))
  if (drawn.backups) addBackupWeights(weights)
  return { calm, workload: { ...workload, lists }, windows, weights, ...drawn, steps, ending }
}

/** Plays a schedule to its end, lets everything settle, and returns the first broken guarantee. */
export async function play(schedule: Schedule, traced = false): Promise<Played> {
  const { steps } = schedule
  const lines: string[] = []
  const trace = traced ? (what: () => string) => void lines.push(what()) : () => {}
  const world = createWorld(schedule, trace)
  const random = createRandom(schedule.ending)
  world.network.set(1, random)
  world.startProjector(0, allPartitions(PARTITIONS))
  await Promise.all([world.startApi(0, random), world.startApi(1, random)])
  await flushPromises()
  for (const number of steps) {
    runStep(world, number, schedule)
    await flushPromises()
    const broken = world.firstBroken()
    if (broken !== undefined) return { broken, lines }
  }
  trace(() => '--- no more faults ---')
  await settle(world, random)
  if (world.firstBroken() === undefined && schedule.rebuilds)
    await settleRebuilds(world, createRandom(schedule.ending + 1))
  if (world.firstBroken() === undefined && schedule.backups)
    await world.backups.settle(createRandom(schedule.ending + 3))

  if (world.firstBroken() === undefined) {
    const refusals = schedule.rebuilds ? [...REFUSALS, refuseRebuildOfNewerFold] : REFUSALS
    await random.pick(refusals)?.(world, random)
  }
  return { broken: world.firstBroken(), lines }
}

/** The broken guarantee without its numbers, which differ from schedule to schedule. */
const kindOf = (broken: string | undefined) => broken?.replace(/\d+/g, '#').slice(0, 60)

/** Removes the steps that the same broken guarantee does not need: first halves, finally single steps. */
export async function shrink(schedule: Schedule): Promise<Schedule> {
  const kind = kindOf((await play(schedule)).broken)
  let { steps } = schedule
  for (let length = steps.length >> 1; length > 0; length >>= 1) {
    for (let at = 0; at < steps.length; ) {
      const fewer = [...steps.slice(0, at), ...steps.slice(at + length)]
      const { broken } = await play({ ...schedule, steps: fewer })
      if (broken !== undefined && kindOf(broken) === kind) steps = fewer
      else at += length
    }
  }
  return { ...schedule, steps }
}
