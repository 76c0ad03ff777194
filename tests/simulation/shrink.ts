import { play } from './play.ts'
import type { Schedule } from './schedule.ts'

/** The kind of promise that was broken: its numbers differ from schedule to schedule. */
const kindOf = (broken: string | undefined) => broken?.replace(/\d+/g, '#').slice(0, 60)

/** Leaves out of a schedule what it does not take to break the same promise: halves first, single steps last. */
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
