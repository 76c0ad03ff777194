import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { SimulatedApi } from './api.ts'
import { flushPromises, outcomeOf } from './clock.ts'
import { ALL } from './kafka.ts'
import { winnerOf } from './oracle.ts'
import { pick, type Random } from './random.ts'
import { RECORDS_AT_ONCE, type SimulatedRebuild } from './rebuilds.ts'
import { APIS } from './schedule.ts'
import { IDS, reachedBy, type World } from './world.ts'

/** Everything must settle within this number of rounds after the last fault. */
const SETTLING_ROUNDS = 400
const ROUND_MS = 100

/** Delivers some records to every follower of the log and advances time a little. */
async function runRound(world: World, random: Random, isCalm = true): Promise<void> {
  for (const partition of ALL) {
    for (const { tail } of world.started()) tail.deliver(partition, random, isCalm)
    for (const { follower } of world.projecting()) follower.deliver(partition, random, isCalm)
    for (const { follower } of world.rebuilds.running()) follower()?.deliver(partition, random, isCalm)
  }
  await flushPromises()
  world.clock.advance(ROUND_MS)
  await flushPromises()
}

/** Runs rounds until the condition holds. When it does not within the limit, the guarantee is broken. */
export async function runUntil(
  world: World,
  random: Random,
  condition: () => boolean,
  guarantee: string | (() => string),
  isCalm = true,
): Promise<void> {
  for (let n = 0; n < SETTLING_ROUNDS; n++) {
    if (world.firstBroken() !== undefined || condition()) return
    await runRound(world, random, isCalm)
  }
  world.broken(typeof guarantee === 'string' ? guarantee : guarantee())
}

/** Runs rounds until a request has its response. */
async function responseTo<T>(world: World, random: Random, request: Promise<T>, what: string): Promise<T | undefined> {
  const response = outcomeOf(request)
  await flushPromises()
  await runUntil(world, random, () => response() !== undefined, `${what} gets no response`)
  const ended = response()
  return ended?.status === 'fulfilled' ? ended.value : undefined
}

const comeToRest = (world: World, random: Random, when: string) =>
  runUntil(
    world,
    random,
    () => unrest(world).length === 0,
    () => `nothing settles ${when}: ${unrest(world).join('; ')}`,
  )

/** After the last fault: everything must recover, work, and come to rest with every guarantee kept. */
export async function settle(world: World, random: Random): Promise<void> {
  world.network.calmDown()
  world.brokers.recover()
  world.reconnectAll()
  await flushPromises()
  const stopping = world.started().filter(({ isStopping }) => isStopping)
  for (let place = 0; place < APIS; place++) {
    const running = world.apis[place]
    if (running?.process.alive !== true || running.api?.isStopping) void world.startApi(place, random)
    else if (running.api?.tail.assigned() === undefined) running.api?.tail.rebalance(ALL, random)
  }
  giveEveryPartitionToSomebody(world, random)
  await checkReadsWithoutKafka(world)
  const haveEnded = () => stopping.every(({ process }) => !process.alive)
  await runUntil(world, random, haveEnded, 'an api does not end')
  await comeToRest(world, random, 'after the last fault')
  if (world.hasLargeWindows) await checkWithoutProjectors(world, random)
  await checkService(world, random)
  await checkRetries(world, random)
  await comeToRest(world, random, 'after the last requests')
  world.onApplied()
  world.clients.checkLog(world.foreign)
  // Each api must list exactly the fold of the log, in pages of any length.
  const listings = world.listening().map((api, n) => world.clients.listAll(api, 1 + n))
  await responseTo(world, random, Promise.all(listings), 'a list')
}

function giveEveryPartitionToSomebody(world: World, random: Random): void {
  const projecting = world.projecting()
  for (const { follower } of projecting) if (follower.assigned() === undefined) follower.rebalance(ALL, random)
  if (ALL.every((partition) => projecting.some(({ follower }) => follower.assigned()?.has(partition)))) return
  if (projecting[0] === undefined) world.startProjector(0, ALL)
  else projecting[0].follower.rebalance(ALL, random)
}

/** Reads must find the plants in Redis, also while no record comes from Kafka. */
async function checkReadsWithoutKafka(world: World): Promise<void> {
  for (const api of world.listening()) {
    for (const id of IDS) {
      const winner = winnerOf(world.log, id)
      const reached = winner && reachedBy(api.process.redis, winner.partition)
      if (winner === undefined || reached === undefined || reached < winner.offset) continue
      const result = outcomeOf(world.clients.readAt(api, id, { partition: winner.partition, offset: reached }))
      await flushPromises()
      await flushPromises()
      const ended = result()
      const is = ended?.status === 'fulfilled' ? ended.value.is : undefined
      if (is !== 'plant' && is !== 'unreadablePlant')
        world.broken(`${api.process.name} can't read what Redis has: ${is}`)
    }
  }
}

/** The parts that have not come to rest. */
function unrest(world: World): string[] {
  const [apis, projecting] = [world.started(), world.projecting()]
  const services = [...apis.map(({ claimIndex }) => claimIndex), ...projecting.map(({ projector }) => projector)]
  const isAtEnd = ({ offset }: Checkpoint, p: Partition) => offset === world.log.end(p) - 1
  const isIdle = ({ isListening, waiting, claimIndex }: SimulatedApi) =>
    isListening && waiting === 0 && ALL.every((p) => isAtEnd(claimIndex.passed(p), p))
  const found = services.flatMap((service) => service.problems())
  const demand = (isAtRest: boolean, otherwise: string) => {
    if (!isAtRest) found.push(otherwise)
  }
  demand(apis.length === APIS, `${apis.length} apis run`)
  for (const api of apis) demand(isIdle(api), `${api.process.name} is busy, or behind the log`)
  for (const { process, projector } of projecting)
    demand(
      [...projector.checkpoints()].every(([p, at]) => isAtEnd(at, p)),
      `${process.name} is not at the end`,
    )
  demand(world.isAtEnd(), 'Redis is not at the end')
  demand(world.table?.isComplete() !== false, 'the table is not complete')
  return found
}

async function checkRetries(world: World, random: Random): Promise<void> {
  const api = random.pick(world.listening())
  if (api === undefined) return
  for (const request of world.clients.unknown()) {
    await comeToRest(world, random, 'before a retry')
    await responseTo(world, random, world.clients.retryUnknown(api, request), 'a retry with the same key')
  }
}

/** Creates a plant, which must succeed. */
async function createNew(world: World, random: Random, api: SimulatedApi, id: number, when: string) {
  const create = world.clients.createNew(api, random, BigInt(id) as PlantId)
  const outcome = await responseTo(world, random, create, 'a create')
  if (outcome?.is === 'created') return outcome
  world.broken(`${api.process.name} can't create ${when}: ${outcome?.is}`)
  return undefined
}

/** Each api must create a plant and read every plant. */
async function checkService(world: World, random: Random): Promise<void> {
  for (const [n, api] of world.listening().entries()) {
    // The create before may have moved a small window beyond the checkpoint of Redis.
    await comeToRest(world, random, 'before a create')
    const created = createNew(world, random, api, 1_000 + n, 'though all has settled')
    for (const known of [BigInt(1_000 + n) as PlantId, ...IDS]) {
      void world.clients.readAt(api, known).then((result) => {
        if (result.is === 'coverageGap') world.broken(`${api.process.name} can't read though all has settled`)
      })
    }
    await created
  }
}

/** While no projector runs, the apis create plants, and read the plants of other apis, by the log alone. */
async function checkWithoutProjectors(world: World, random: Random): Promise<void> {
  for (const { process } of world.projecting()) world.crash(process, random)
  for (const [n, api] of world.listening().entries()) {
    const created = await createNew(world, random, api, 4_000 + n, 'while no projector runs')
    if (created === undefined) return
    const reads = world.listening().map((other) => world.clients.readAt(other, BigInt(4_000 + n) as PlantId, created))
    const results = await responseTo(world, random, Promise.all(reads), 'a read')
    if (results?.every(({ is }) => is === 'plant') !== true)
      world.broken("an api can't read a new plant while no projector runs")
  }
  world.startProjector(0, ALL)
  await comeToRest(world, random, 'after all projectors were dead')
}

/** The first rebuild may find a damaged generation and drop it; the second must succeed. */
const LAST_REBUILDS = 2
/** The share of schedules with a failover during the last rebuild: it takes long. */
const DISTURBED = 0.15
const DISTURBED_ROUNDS = 30
const CALLS_A_ROUND = 8

/** After the last fault a rebuild must succeed and leave the fold of the log and nothing else. */
export async function settleRebuilds(world: World, random: Random): Promise<void> {
  await runUntil(world, random, () => world.rebuilds.running().length === 0, 'a rebuild does not end')
  if (random.chance(DISTURBED)) await disturb(world, random)
  let last: SimulatedRebuild | undefined
  for (let n = 0; n < LAST_REBUILDS && !hasSwitched(last); n++) {
    const rebuild = world.rebuilds.launch(pick(RECORDS_AT_ONCE, random), false)
    last = rebuild
    await runUntil(world, random, () => rebuild.ended() !== undefined, 'the last rebuild does not end')
  }
  world.rebuilds.running()
  if (!hasSwitched(last)) return world.broken(`the last rebuild fails: ${JSON.stringify(last?.ended())}`)
  await comeToRest(world, random, 'after a rebuild')
  for (const { live, filling, generations } of world.master()) {
    const names = [...generations.keys()].join()
    if (filling !== '' || names !== live) world.broken(`left over at rest: ${filling}, ${names}`)
  }
  world.onApplied()
}

/** Redis falls back during a rebuild; in half of the cases without writes that would show it. */
async function disturb(world: World, random: Random): Promise<void> {
  const rebuild = world.rebuilds.launch(pick(RECORDS_AT_ONCE, random), true)
  const api = random.chance(0.5) ? random.pick(world.listening()) : undefined
  // Calls take time, so that the failover can also come during the verification.
  world.network.set(0, random)
  for (let left = random.below(DISTURBED_ROUNDS); left > 0; left--) {
    await runRound(world, random)
    for (let n = 0; n < CALLS_A_ROUND; n++) world.network.proceed(random)
    if (random.chance(0.2)) world.snapshot()
    if (api !== undefined && random.chance(0.3))
      void world.clients.createNew(api, random, (3_000n + BigInt(left)) as PlantId)
  }
  world.failOver(random)
  world.reconnectAll()
  world.network.calmDown()
  await runUntil(world, random, () => rebuild.ended() !== undefined, 'a rebuild that fell back does not end')
  await comeToRest(world, random, 'after Redis fell back')
}

function hasSwitched(rebuild: SimulatedRebuild | undefined): boolean {
  const ended = rebuild?.ended()
  return ended?.status === 'fulfilled' && ended.value.every(({ is }) => is === 'switched')
}
