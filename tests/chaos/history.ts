import { appendFileSync } from 'node:fs'

/** Milliseconds since the run began. All times of a history are from the clock of the recording process. */
type Timed = { startedAt: number; endedAt: number }
/**
 * `since` is when the process of the api was started. It is absent if the api was started again during the request, so
 * that it is not known which process responded.
 */
type Requested = Timed & { api: string; since?: number }
/** `status` is absent when no response came, `error` for a success; `responseName` is the name of the plant in it. */
type Responded = { status?: number; error?: number; position?: string; responseName?: string }

/** One attempt to create a plant. All attempts of a plant have its name, which no other plant of the run has. */
export type CreateRequest = {
  kind: 'create'
  id: number
  partition: number
  name: string
  keyed: boolean
} & Requested &
  Responded
/** `sent` is the position that the request carried. */
export type ReadRequest = { kind: 'read'; id: number; partition: number; sent?: string } & Requested & Responded
/** A list from its first page on, all from one api; not complete if a page failed, or the run ended before the last. */
export type ListRequest = {
  kind: 'list'
  items: readonly { id: number; name: string }[]
  isComplete: boolean
  error?: number
} & Requested
export type Request = CreateRequest | ReadRequest | ListRequest

/** Some creates have a name that Kafka may refuse, as records above a limit. */
const LARGE_NAME_CHARACTERS = 900
export const largeName = (name: string) => `${name} ${'\u{1f33f}'.repeat(LARGE_NAME_CHARACTERS)}`
export const isLarge = ({ name }: { name: string }) => name.length > LARGE_NAME_CHARACTERS

export type History = ReturnType<typeof createHistory>

/** Keeps every request of a run in memory, and as lines of JSON in a file. */
export function createHistory(file: string) {
  const requests: Request[] = []
  let unwritten: string[] = []
  const startedAt = performance.now()
  const at = (ms: number) => ms - startedAt

  function flush(): void {
    if (unwritten.length > 0) appendFileSync(file, `${unwritten.join('\n')}\n`)
    unwritten = []
  }

  return {
    requests: requests as readonly Request[],
    now: () => at(performance.now()),
    /** The time at a `performance.now()` of this process. */
    at,

    add(request: Request): void {
      requests.push(request)
      unwritten.push(JSON.stringify(request))
      if (unwritten.length >= 1_000) flush()
    },

    flush,
  }
}
