import { type CreateRequest, isLarge, type ReadRequest, type Request } from './history.ts'

// The cluster: a broker's session lasts 3 s (broker.session.timeout.ms). The voters replace a controller within 3 s
// (fetch time-out 2 s, election 1 s). Sentinels wait 2 s for a master. The services wait 3 s for a connection and 5 s
// for a response.

/**
 * Limit for what a fault affects. A leader change takes up to 5 s, and so does the time-out of a request to the former
 * leader. A broker that is away is in the ISR of every partition, and acks=all waits for it, until it is fenced: after a
 * session, and after another one and the replacement of the controller if the broker was it. A failover of Redis takes
 * less.
 */
export const CONTINUES_WITHIN_MS = 10_000
/**
 * Longest time without a success, while requests are in flight, of what a fault does not affect. Below the time-outs of
 * the services; two cores with a load of 19 took up to 2.4 s without a fault (`--fault none`).
 */
const AT_ONCE_MS = 3_000
/** Retry-After of the api. A client that waits longer does not ask. */
const BACK_OFF_MS = 1_000
const MAX_VIOLATIONS = 100

/** Requests that a fault may stop: all, or only creates, some apis, some partitions. */
export type Effect = {
  of?: 'create'
  apis?: readonly string[]
  partitions?: readonly number[]
  /** Brokers or Redis servers that are away. Two of a kind leave no majority: nothing has to succeed until recovery. */
  servers?: readonly string[]
  /** Nothing has to succeed until so long after the start of the experiment. */
  forMs?: number
  /** The longest time without a success, during the whole experiment. */
  gapMs?: number
}
export const UNTIL_RECOVERED = Infinity

/** Its times are on the clock of the history. */
export type Experiment = {
  number: number
  faults: string[]
  /** The effects of each fault. */
  effects: (readonly Effect[])[]
  startedAt: number
  /** When the faults were removed. */
  healedAt: number
  /** When all was ready again, and creates and reads had succeeded; absent if that took too long. */
  recoveredAt?: number
}

type Judged = CreateRequest | ReadRequest

/**
 * Compares the gaps between the successful requests of each kind, api and partition with what the faults of each
 * experiment may stop, and returns each longer gap as a sentence, the longest first: one of each partition.
 */
export function judgeLiveness(experiments: readonly Experiment[], requests: readonly Request[]): string[] {
  const judged = requests.filter(isJudged)
  const shownAt = new Map<number, number>()
  for (const { id, status, endedAt } of judged)
    if (status === 200) shownAt.set(id, Math.min(shownAt.get(id) ?? Infinity, endedAt))
  return experiments
    .flatMap((experiment) => {
      // A plant that Redis has: its create came some time before the fault.
      const isStored = ({ id }: Judged) => (shownAt.get(id) ?? Infinity) < experiment.startedAt - AT_ONCE_MS
      const asked = judged.filter((request) => request.kind === 'create' || isStored(request))
      return judgeGaps(experiment, asked).map(
        (text) => `experiment ${experiment.number}, ${experiment.faults.join(' + ')}: ${text}`,
      )
    })
    .slice(0, MAX_VIOLATIONS)
}

function judgeGaps(experiment: Experiment, requests: readonly Judged[]): string[] {
  const { startedAt, healedAt, recoveredAt: endedAt = healedAt } = experiment
  const during = requests.filter((request) => request.endedAt >= startedAt && request.startedAt < endedAt)
  const longest = new Map<string, { ms: number; text: string }>()
  for (const group of Map.groupBy(during, ({ kind, api, partition }) => `${kind} ${api} ${partition}`).values()) {
    const { kind, api, partition } = group[0] as Judged
    const { forMs, gapMs } = toleranceOf(experiment, group[0] as Judged)
    const judgedFrom = startedAt + Math.max(0, forMs - AT_ONCE_MS)
    for (const gap of gapsOf(group)) {
      const [from, until] = [Math.max(gap.from, startedAt), Math.min(gap.until, endedAt)]
      const what = `${kind} of partition ${partition}`
      if (until - Math.max(from, judgedFrom) <= Math.max(AT_ONCE_MS, gapMs)) continue
      if (until - from <= (longest.get(what)?.ms ?? 0)) continue
      const times = [from, until].map((at) => `${((at - startedAt) / 1000).toFixed(1)} s`).join(' to ')
      const text = `no ${what} at ${api} succeeded from ${times} after the start (${Math.round(from)} in the history)`
      longest.set(what, { ms: until - from, text })
    }
  }
  return [...longest.values()].sort((a, b) => b.ms - a.ms).map(({ text }) => text)
}

/** No response, or one that says that the service cannot. */
const isFailure = ({ status }: { status?: number }) => status === undefined || status >= 500

/** What the faults of an experiment may do to requests like this one: the most of each fault, added up. */
function toleranceOf({ effects }: Experiment, { kind, api, partition }: Judged) {
  const reaching = effects.map((ofFault) =>
    ofFault.filter(({ of = kind, apis = [api] }) => of === kind && apis.includes(api)),
  )
  const away = new Set(reaching.flat().flatMap(({ servers = [] }) => servers))
  const ofStores = Map.groupBy(away, (server) => server.split('-')[0])
  if (ofStores.values().some(({ length }) => length > 1)) return { forMs: UNTIL_RECOVERED, gapMs: 0 }
  const sum = { forMs: 0, gapMs: 0 }
  for (const ofFault of reaching) {
    const touching = ofFault.filter(({ partitions = [partition] }) => partitions.includes(partition))
    for (const limit of ['forMs', 'gapMs'] as const)
      sum[limit] += Math.max(0, ...touching.map((effect) => effect[limit] ?? 0))
  }
  return sum
}

/**
 * The times from a request to the next success, and between successes while requests are in flight. A client that backs
 * off still asks.
 */
function gapsOf(requests: readonly Judged[]): { from: number; until: number }[] {
  const steps = requests.flatMap(({ startedAt, endedAt, status }) => [
    { at: startedAt, requests: 1, isSuccess: false },
    { at: endedAt, requests: -1, isSuccess: status === 200 },
  ])
  const gaps = []
  let since: number | undefined
  let lastEnd = 0
  let inFlight = 0
  for (const { at, requests, isSuccess } of steps.sort((a, b) => a.at - b.at)) {
    const isLeft = inFlight === 0 && at - lastEnd > BACK_OFF_MS
    if (since !== undefined && (isSuccess || isLeft)) {
      gaps.push({ from: since, until: isSuccess ? at : lastEnd })
      since = undefined
    }
    inFlight += requests
    if (inFlight > 0) since ??= at
    if (requests < 0) lastEnd = at
  }
  return since === undefined ? gaps : [...gaps, { from: since, until: lastEnd }]
}

/**
 * Creates and reads that succeeded or failed. *Duplicate* and *absent* are neither: a duplicate needs no append, and a
 * read of an unknown plant may have to wait for the log.
 */
export const isJudged = (request: Request): request is Judged =>
  request.kind !== 'list' &&
  !(request.kind === 'create' && isLarge(request)) &&
  (request.status === 200 || isFailure(request))
