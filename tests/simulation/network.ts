import type { SimulatedProcess } from './clock.ts'
import type { Random } from './random.ts'

/** A request on its way. Its parts are carried out one by one, each at once; then it is answered. */
type Call = {
  process: SimulatedProcess
  what: string
  waiting: boolean
  toDo: (() => void)[]
  done: (() => void)[]
  answer(): void
  fail(error: Error): void
}

export type Network = ReturnType<typeof createNetwork>

/**
 * Carries requests to Kafka and Redis and answers back, in any order, late, twice or not at all. How often it does so
 * without a fault is its calm, from 0 to 1.
 */
export function createNetwork(trace: (what: () => string) => void) {
  let calls: Call[] = []
  let calm = 1
  let random: Random
  const tidy = () => {
    calls = calls.filter(({ waiting, toDo }) => waiting || toDo.length > 0)
  }

  function carryOut(call: Call, index: number): void {
    const [part] = call.toDo.splice(index, 1)
    if (part === undefined) return
    call.done.push(part)
    part()
  }

  function finish(call: Call): void {
    while (call.toDo.length > 0) carryOut(call, 0)
    if (call.waiting) call.answer()
  }

  return {
    /** What is asked for from now on finds the network so calm, by these choices. */
    set(calmness: number, choices: Random): void {
      calm = calmness
      random = choices
    },

    /** Resolves with what the parts returned; rejects when a part threw or the answer was lost. */
    call<T>(process: SimulatedProcess, what: string, parts: readonly (() => T)[]): Promise<T[]> {
      const { promise, resolve, reject } = Promise.withResolvers<T[]>()
      const results: T[] = []
      let failure: Error | undefined
      const settle = (end: () => void) => {
        call.waiting = false
        if (process.alive) end()
      }
      const call: Call = {
        process,
        what,
        waiting: true,
        toDo: parts.map((part, index) => () => {
          try {
            results[index] = part()
          } catch (error) {
            failure = error as Error
          }
        }),
        done: [],
        answer: () => settle(() => (failure === undefined ? resolve(results) : reject(failure))),
        fail: (error) => settle(() => reject(error)),
      }
      if (random.chance(calm)) finish(call)
      else calls.push(call)
      return promise
    },

    /** One call goes one step on. */
    proceed(choices: Random): void {
      const call = choices.pick(calls)
      if (call === undefined) return
      if (call.toDo.length > 0) {
        trace(
          () =>
            `${call.process.name}'s ${call.what} ${call.waiting ? 'is carried out' : 'is carried out LATE'}`,
        )
        carryOut(call, choices.below(call.toDo.length))
        if (call.waiting && call.toDo.length === 0 && choices.chance(0.5)) call.answer()
      } else {
        trace(() => `${call.process.name}'s ${call.what} is answered`)
        call.answer()
      }
      tidy()
    },

    /** One call fails for who made it; whether it was or will be carried out is another matter. */
    lose(choices: Random): void {
      const call = choices.pick(calls.filter(({ waiting }) => waiting))
      if (call === undefined) return
      const keepsGoing = choices.chance(0.5)
      trace(
        () =>
          `${call.process.name}'s ${call.what} is LOST, ${call.toDo.length === 0 ? 'carried out' : keepsGoing ? 'to be carried out later' : 'not carried out'}`,
      )
      if (!keepsGoing) call.toDo = []
      call.fail(new Error('the connection was lost'))
      tidy()
    },

    /** A part that was carried out is carried out again: a resend below the protocol. */
    repeat(choices: Random): void {
      const call = choices.pick(
        calls.filter(({ done, what }) => done.length > 0 && what.startsWith('append')),
      )
      const part = call && choices.pick(call.done)
      if (call === undefined || part === undefined) return
      trace(() => `${call.process.name}'s ${call.what} is carried out AGAIN`)
      part()
    },

    /** The caller is gone: its calls are answered no more, and some of them are never carried out. */
    cutOff(process: SimulatedProcess, choices: Random): void {
      for (const call of calls) {
        if (call.process !== process) continue
        call.waiting = false
        if (choices.chance(0.5)) call.toDo = []
      }
      tidy()
    },

    /** Everything on its way arrives, and from now on at once. */
    calmDown(): void {
      calm = 1
      for (const call of calls) finish(call)
      calls = []
    },
  }
}
