import { setTimeout as delay } from 'node:timers/promises'
import { createRandom, type Random } from '../simulation/random.ts'
import { readyz } from '../support/is-ready.ts'
import { type Cluster, TOPIC } from './cluster.ts'
import { drawFault } from './faults/draw-fault.ts'
import type { Fault, Scene } from './faults/fault.ts'
import type { History } from './history.ts'
import type { JudgedExperiment } from './liveness.ts'
import type { RunOptions } from './run-options.ts'

/** The longest are for what has to continue within 10 s. */
const HOLD_MS = { least: 4_000, most: 20_000 }
const PAIR = 0.35
const INJECT_TIMEOUT_MS = 180_000
/** A broker that is started again may need another one that the other fault has taken. */
const HEAL_WITHIN_MS = 90_000
const RECOVERED_WITHIN_MS = 90_000
const LOOK_EVERY_MS = 200
const DRAWS = 1_000

/** Failures of the injection itself are failures of the test. */
export type Experiment = JudgedExperiment & { failures: string[] }

/**
 * An experiment injects one or two faults, holds them, removes them, and waits until everything works again. The seed
 * and the number, from 1 on, determine what is drawn.
 */
export async function runExperiment(
  cluster: Cluster,
  history: History,
  number: number,
  { seed, kinds, holdMs: chosenMs }: Pick<RunOptions, 'seed' | 'kinds' | 'holdMs'>,
): Promise<Experiment> {
  const random = createRandom(seed * 10_007 + number)
  const scene = { ...cluster, leaders: await cluster.findLeaders() }
  const kind = kinds?.[(number - 1) % kinds.length]
  const faults = kind === undefined ? drawFaults(scene, random) : [drawOfKind(kind, scene, random)]
  const drawnMs = HOLD_MS.least + random.below(HOLD_MS.most - HOLD_MS.least)
  const holdMs = chosenMs ?? Math.max(...faults.map((fault) => fault.holdMs ?? drawnMs))
  const failures: string[] = []
  const attempt = (fault: Fault, act: () => Promise<void>) =>
    withTimeout(act()).catch((error: Error) => void failures.push(`${fault.kind}: ${error.message}`))

  const startedAt = history.now()
  const context = { isAlone: faults.length === 1 }
  const injected = Promise.all(faults.map((fault) => attempt(fault, () => fault.inject(context))))
  await Promise.all([delay(holdMs), Promise.race([injected, delay(HEAL_WITHIN_MS, undefined, { ref: false })])])
  await Promise.all([injected, ...faults.map(async (fault) => fault.heal && attempt(fault, fault.heal))])
  const healedAt = history.now()
  const recovered = await untilRecovered(cluster, history, healedAt)
  return {
    ...{ number, faults: faults.map(describe), startedAt, healedAt, failures },
    effects: faults.map(({ effects = [] }) => effects),
    ...(recovered && { recoveredAt: history.now() }),
  }
}

function drawFaults(scene: Scene, random: Random): Fault[] {
  const first = drawFault(scene, random)
  if (!random.chance(PAIR)) return [first]
  for (let draw = 0; draw < DRAWS; draw++) {
    const second = drawFault(scene, random)
    if (!second.targets.some((target) => first.targets.includes(target))) return [first, second]
  }
  return [first]
}

function drawOfKind(kind: string, scene: Scene, random: Random): Fault {
  for (let draw = 0; draw < DRAWS; draw++) {
    const fault = drawFault(scene, random)
    if (fault.kind.includes(kind)) return fault
  }
  throw new Error(`--fault ${kind}: no fault has this in its name`)
}

const describe = ({ kind, targets }: Fault) => `${kind} (${targets.length > 3 ? targets[0] : targets.join(', ')})`

function withTimeout<T>(work: Promise<T>): Promise<T> {
  const limit = delay(INJECT_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`not done after ${INJECT_TIMEOUT_MS / 1000} s`)
  })
  return Promise.race([work, limit])
}

/** Everything is ready, and the clients have had a success of each kind on each api, and in each partition, since. */
export async function untilRecovered({ services, apis }: Cluster, history: History, since: number): Promise<boolean> {
  const until = history.now() + RECOVERED_WITHIN_MS
  let checked = history.requests.length
  const missing = new Set(apis.flatMap(({ name }) => [`create ${name}`, `read ${name}`]))
  for (let partition = 0; partition < TOPIC.partitions; partition++) missing.add(`create ${partition}`)
  while (history.now() < until) {
    for (; checked < history.requests.length; checked++) {
      const request = history.requests[checked]
      if (request === undefined || request.kind === 'list' || request.startedAt < since) continue
      if (request.status !== 200) continue
      for (const where of [request.api, request.partition]) missing.delete(`${request.kind} ${where}`)
    }
    if (missing.size === 0 && (await areReady(services))) return true
    await delay(LOOK_EVERY_MS)
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

export async function areReady(services: Cluster['services']): Promise<boolean> {
  return (await reasonsOf(services)) === ''
}
