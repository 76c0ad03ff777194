import { flushPromises } from './clock.ts'
import { ALL } from './kafka.ts'
import { createRandom } from './random.ts'
import { REFUSALS, refuseRebuildOfNewerFold } from './refusals.ts'
import { runStep, type Schedule, scheduleOf } from './schedule.ts'
import { settle, settleRebuilds } from './settle.ts'
import { createWorld } from './world.ts'

/** Plays a schedule to its end, lets everything settle, and returns the first broken guarantee. */
export async function play(schedule: Schedule, traced = false) {
  const { steps, ending, rebuilds, backups } = schedule
  const lines: string[] = []
  const trace = traced ? (what: () => string) => void lines.push(what()) : () => {}
  const world = createWorld(schedule, trace)
  const random = createRandom(ending)
  world.network.set(1, random)
  world.startProjector(0, ALL)
  await Promise.all([world.startApi(0, random), world.startApi(1, random)])
  await flushPromises()
  for (const number of steps) {
    if (world.firstBroken() !== undefined) break
    runStep(world, number, schedule)
    await flushPromises()
  }
  trace(() => '--- no more faults ---')
  const endings = [
    () => settle(world, random),
    async () => rebuilds && (await settleRebuilds(world, createRandom(ending + 1))),
    async () => backups && (await world.backups.settle(createRandom(ending + 3))),
    async () => await random.pick(rebuilds ? [...REFUSALS, refuseRebuildOfNewerFold] : REFUSALS)?.(world, random),
  ]
  for (const end of endings) if (world.firstBroken() === undefined) await end()
  return { broken: world.firstBroken(), lines }
}

export const playSeed = (seed: number) => play(scheduleOf(seed))

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
