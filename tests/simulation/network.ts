import type { SimulatedProcess } from './clock.ts'
import type { Random } from './random.ts'

/** A request in flight. Its parts are executed one by one, each atomically; then its response is sent. */
type Call = {
  process: SimulatedProcess
  what: string
  waiting: boolean
  pending: (() => void)[]
  done: (() => void)[]
  respond(): void
  fail(error: Error): void
}

export type Network = ReturnType<typeof createNetwork>

/**
 * Carries requests to Kafka and Redis, and their responses, in any order, late, twice or not at all. `calm` is the
 * share of requests without a fault, from 0 to 1.
 */
export function createNetwork(trace: (what: () => string) => void) {
  let calls: Call[] = []
  let calm = 1
  let random: Random
  const tidy = () => {
    calls = calls.filter(({ waiting, pending }) => waiting || pending.length > 0)
  }

  function execute(call: Call, index: number): void {
    const [part] = call.pending.splice(index, 1)
    if (part === undefined) return
    call.done.push(part)
    part()
  }

  function finish(call: Call): void {
    while (call.pending.length > 0) execute(call, 0)
    if (call.waiting) call.respond()
  }

  /** Resolves with the results of the parts; rejects when a part threw or the response was lost. */
  function callAll<T>(process: SimulatedProcess, what: string, parts: readonly (() => T)[]): Promise<T[]> {
    const { promise, resolve, reject } = Promise.withResolvers<T[]>()
    const results: T[] = []
    let failure: Error | undefined
    const settle = (end: () => void) => {
      call.waiting = false
      if (process.alive) end()
    }
    const execute = (index: number) => {
      try {
        results[index] = (parts[index] as () => T)()
      } catch (error) {
        failure = error as Error
      }
    }
    const call: Call = {
      ...{ process, what, waiting: true, done: [] },
      pending: parts.map((_, index) => () => execute(index)),
      respond: () => settle(() => (failure === undefined ? resolve(results) : reject(failure))),
      fail: (error) => settle(() => reject(error)),
    }
    if (random.chance(calm)) finish(call)
    else calls.push(call)
    return promise
  }

  return {
    /** Sets the share of requests without a fault from now on, and the random source that decides which. */
    set(newCalm: number, choices: Random): void {
      calm = newCalm
      random = choices
    },

    callAll,

    async call<T>(process: SimulatedProcess, what: string, part: () => T): Promise<T> {
      return (await callAll(process, what, [part]))[0] as T
    },

    /** Executes the next part of one call, or sends its response. */
    proceed(choices: Random): void {
      const call = choices.pick(calls)
      if (call === undefined) return
      if (call.pending.length > 0) {
        trace(() => `${call.process.name}'s ${call.what} ${call.waiting ? 'is executed' : 'is executed LATE'}`)
        execute(call, choices.below(call.pending.length))
        if (call.waiting && call.pending.length === 0 && choices.chance(0.5)) call.respond()
      } else {
        trace(() => `${call.process.name}'s ${call.what} gets its response`)
        call.respond()
      }
      tidy()
    },

    /** Fails one call for its caller, before or after its execution. */
    lose(choices: Random): void {
      const call = choices.pick(calls.filter(({ waiting }) => waiting))
      if (call === undefined) return
      const left = call.pending.length
      if (!choices.chance(0.5)) call.pending = []
      trace(() => `${call.process.name}'s ${call.what} is LOST: of ${left} parts, ${call.pending.length} remain`)
      call.fail(new Error('the connection was lost'))
      tidy()
    },

    /** Executes a part of an append a second time: the Kafka client resends without the knowledge of the protocol. */
    repeat(choices: Random): void {
      const call = choices.pick(calls.filter(({ done, what }) => done.length > 0 && what.startsWith('append')))
      const part = call && choices.pick(call.done)
      if (call === undefined || part === undefined) return
      trace(() => `${call.process.name}'s ${call.what} is executed AGAIN`)
      part()
    },

    /** The caller has crashed: its calls get no response, and some are never executed. */
    cutOff(process: SimulatedProcess, choices: Random): void {
      for (const call of calls) {
        if (call.process !== process) continue
        call.waiting = false
        if (choices.chance(0.5)) call.pending = []
      }
      tidy()
    },

    /** Executes the calls of crashed processes that are still on their way. */
    arrive(): void {
      for (const call of calls) if (!call.process.alive) finish(call)
      tidy()
    },

    /** Completes all calls in flight. From now on, each call completes at once. */
    calmDown(): void {
      calm = 1
      for (const call of calls) finish(call)
      calls = []
    },
  }
}
