import { setTimeout as delay } from 'node:timers/promises'
import { createRandom, pick, type Random } from '../simulation/random.ts'
import { readyz } from '../support/is-ready.ts'
import { type Cluster, TOPIC } from './cluster.ts'
import { BROKER_FAULTS } from './faults/broker-faults.ts'
import type { Fault, Scene } from './faults/fault.ts'
import { LINK_FAULTS } from './faults/link-faults.ts'
import { OPERATIONS, UPGRADES } from './faults/operations.ts'
import { PARTITION_FAULTS } from './faults/partition-faults.ts'
import { PROCESS_FAULTS } from './faults/process-faults.ts'
import { REDIS_FAULTS } from './faults/redis-faults.ts'
import type { Request } from './history.ts'
import { type Experiment, isJudged } from './liveness.ts'

const STORE_FAULTS = [...REDIS_FAULTS, ...BROKER_FAULTS, ...PARTITION_FAULTS]
const FAULTS = [...PROCESS_FAULTS, ...LINK_FAULTS, ...STORE_FAULTS, ...OPERATIONS]
/** The longest are for what has to continue within 10 s. */
const HOLD_MS = { least: 4_000, most: 20_000 }
const PAIR = 0.35
const INJECT_TIMEOUT_MS = 180_000
/** A broker that is started again may need another one that the other fault has taken. */
const HEAL_WITHIN_MS = 90_000
const RECOVERED_WITHIN_MS = 90_000
const LOOK_EVERY_MS = 200
const DRAWS = 1_000
const SLOW_MS = 1_000

/**
 * An experiment injects one or two faults, holds them, removes them, and waits until everything works again. The seed
 * and the number, from 1 on, determine what is drawn. Failures of the injection itself are failures of the test.
 */
export async function runExperiment(
  cluster: Cluster,
  requests: readonly Request[],
  number: number,
  options: { seed: number; kinds?: readonly string[] | undefined; holdMs?: number | undefined },
): Promise<Experiment & { failures: string[] }> {
  const random = createRandom(options.seed * 10_007 + number)
  const scene = { ...cluster, leaders: await cluster.findLeaders() }
  const faults = drawFaults(scene, random, options.kinds?.[(number - 1) % options.kinds.length])
  const drawnMs = HOLD_MS.least + random.below(HOLD_MS.most - HOLD_MS.least)
  const holdMs = options.holdMs ?? Math.max(...faults.map((fault) => fault.holdMs ?? drawnMs))
  const failures: string[] = []
  const attempt = (fault: Fault, act: () => Promise<void>) =>
    withTimeout(act()).catch((error: Error) => void failures.push(`${fault.kind}: ${error.message}`))

  const startedAt = performance.now()
  const context = { isAlone: faults.length === 1 }
  const injected = Promise.all(faults.map((fault) => attempt(fault, () => fault.inject(context))))
  await Promise.all([delay(holdMs), Promise.race([injected, delay(HEAL_WITHIN_MS, undefined, { ref: false })])])
  await Promise.all([injected, ...faults.map(async (fault) => fault.heal && attempt(fault, fault.heal))])
  const healedAt = performance.now()
  const recovered = await untilRecovered(cluster, requests, healedAt)
  return {
    ...{ number, faults: faults.map(describe), startedAt, healedAt, failures },
    effects: faults.map(({ effects = [] }) => effects),
    ...(recovered && { recoveredAt: performance.now() }),
  }
}

/** Draws a fault whose name has the text, or else one or two. The same numbers draw the same faults. */
function drawFaults(scene: Scene, random: Random, kind?: string): Fault[] {
  const all = scene.hasTwoReleases ? [...FAULTS, ...UPGRADES] : FAULTS
  function drawUntil(isRight: (fault: Fault) => boolean): Fault[] {
    for (let draw = 0; draw < DRAWS; draw++) {
      const fault = pick(all, random)(scene, random)
      if (isRight(fault)) return [fault]
    }
    return []
  }
  if (kind !== undefined) {
    const found = drawUntil((fault) => fault.kind.includes(kind))
    if (found.length === 0) throw new Error(`--fault ${kind}: no fault has this in its name`)
    return found
  }
  const first = drawUntil(() => true)
  const taken = new Set(first.flatMap(({ targets }) => targets))
  return random.chance(PAIR) ? [...first, ...drawUntil(({ targets }) => !targets.some((one) => taken.has(one)))] : first
}

const describe = ({ kind, targets }: Fault) => `${kind} (${targets.length > 3 ? targets[0] : targets.join(', ')})`

function withTimeout<T>(work: Promise<T>): Promise<T> {
  const limit = delay(INJECT_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`not done after ${INJECT_TIMEOUT_MS / 1000} s`)
  })
  return Promise.race([work, limit])
}

/** An experiment, with the creates from the injection of the faults to their removal. */
export function lineOf(experiment: Experiment, requests: readonly Request[]): string {
  const { number, faults, startedAt, healedAt, recoveredAt } = experiment
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const creates = requests
    .filter(isJudged)
    .filter(({ kind, ...create }) => kind === 'create' && create.endedAt > startedAt && create.startedAt < healedAt)
  const failed = creates.filter(({ status }) => status !== 200)
  const slow = creates.filter((create) => create.status === 200 && create.endedAt - create.startedAt > SLOW_MS)
  const share = (part: readonly object[]) => `${((100 * part.length) / creates.length).toFixed(1)} %`
  const recovery = recoveredAt === undefined ? 'NOT RECOVERED' : `recovered after ${seconds(recoveredAt - healedAt)}`
  const shares = `of ${creates.length} creates ${share(failed)} failed, ${share(slow)} took over 1 s`
  return `${number}. ${faults.join(' + ')}: ${seconds(healedAt - startedAt)}; ${shares}; ${recovery}`
}

/** Everything is ready, and the clients have had a success of each kind on each api, and in each partition, since. */
export async function untilRecovered(
  { services, apis }: Cluster,
  requests: readonly Request[],
  since: number,
): Promise<boolean> {
  const until = performance.now() + RECOVERED_WITHIN_MS
  const missing = new Set(apis.flatMap(({ name }) => [`create ${name}`, `read ${name}`]))
  for (let partition = 0; partition < TOPIC.partitions; partition++) missing.add(`create ${partition}`)
  for (let checked = requests.length; performance.now() < until; await delay(LOOK_EVERY_MS)) {
    for (const request of requests.slice(checked)) {
      if (request.kind === 'list' || request.startedAt < since || request.status !== 200) continue
      for (const where of [request.api, request.partition]) missing.delete(`${request.kind} ${where}`)
    }
    checked = requests.length
    if (missing.size === 0 && (await reasonsOf(services)) === '') return true
  }
  return false
}

/** The reasons of the services that are not ready; empty if all are. */
export async function reasonsOf(services: Cluster['services']): Promise<string> {
  const reasons = services.map(({ name, opsUrl }) =>
    readyz(opsUrl)
      .then(async (response) => (response.ok ? [] : [`${name}: ${await response.text()}`]))
      .catch(() => [`${name} does not respond`]),
  )
  return (await Promise.all(reasons)).flat().join('; ')
}
