import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { SimulatedApi } from './api.ts'
import { flushPromises, outcomeOf } from './clock.ts'
import { winnerOf } from './oracle.ts'
import type { Random } from './random.ts'
import type { SimulatedRebuild } from './rebuilds.ts'
import { APIS } from './schedule.ts'
import { IDS, PARTITIONS, type World } from './world.ts'

/** Everything must settle within this number of rounds after the last fault. */
const SETTLING_ROUNDS = 400
const ROUND_MS = 100

/** Delivers some records to every follower of the log and advances time a little. */
export async function runRound(world: World, random: Random, isCalm = true): Promise<void> {
  for (const partition of allPartitions(PARTITIONS)) {
    for (const { tail } of world.started()) tail.deliver(partition, random, isCalm)
    for (const { follower } of world.projecting()) follower.deliver(partition, random, isCalm)
    for (const { follower } of world.rebuilds.running()) follower?.deliver(partition, random, isCalm)
  }
  await flushPromises()
  world.clock.advance(ROUND_MS)
  await flushPromises()
}

/** Runs rounds until the condition holds; false if it does not within the limit. */
export async function runUntil(
  world: World,
  random: Random,
  condition: (world: World) => boolean,
  isCalm = true,
): Promise<boolean> {
  for (let n = 0; n < SETTLING_ROUNDS; n++) {
    if (world.firstBroken() !== undefined || condition(world)) return true
    await runRound(world, random, isCalm)
  }
  return false
}

/** Runs rounds until all of these requests have their responses; undefined if they do not get them. */
async function responsesTo<T>(world: World, random: Random, requests: Promise<T>[]): Promise<T[] | undefined> {
  const responses = outcomeOf(Promise.all(requests))
  await flushPromises()
  await runUntil(world, random, () => responses() !== undefined)
  const ended = responses()
  return ended?.status === 'fulfilled' ? ended.value : undefined
}

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
    else if (running.api && running.api.tail.assigned() === undefined) {
      running.api.tail.rebalance(allPartitions(PARTITIONS), random)
    }
  }
  giveEveryPartitionToSomebody(world, random)
  await checkReadsWithoutKafka(world)
  const haveEnded = () => stopping.every(({ process }) => !process.alive)
  if (!(await runUntil(world, random, () => haveEnded() && isAtRest(world)))) {
    return world.broken(`nothing settles: ${unrest(world).join('; ')}`)
  }
  if (world.hasLargeWindows) await checkWithoutProjectors(world, random)
  await checkService(world, random)
  await checkRetries(world, random)
  if (!(await runUntil(world, random, isAtRest)))
    return world.broken(`nothing settles again: ${unrest(world).join('; ')}`)
  world.onApplied()
  world.clients.checkLog(world.foreign)
  await checkLists(world, random)
}

function giveEveryPartitionToSomebody(world: World, random: Random): void {
  const all = allPartitions(PARTITIONS)
  const projecting = world.projecting()
  for (const { follower } of projecting) if (follower.assigned() === undefined) follower.rebalance(all, random)
  if (all.every((partition) => projecting.some(({ follower }) => follower.assigned()?.has(partition)))) return
  if (projecting[0] === undefined) world.startProjector(0, all)
  else projecting[0].follower.rebalance(all, random)
}

/** Reads must find the plants in Redis, also while no record comes from Kafka. */
async function checkReadsWithoutKafka(world: World): Promise<void> {
  for (const api of world.listening()) {
    for (const id of IDS) {
      const winner = winnerOf(world.log, id)
      const reached = winner && world.reachedBy(api.process.redis, winner.partition)
      if (winner === undefined || reached === undefined || reached < winner.offset) continue
      const position = { partition: winner.partition, offset: reached }
      const results: { is: string }[] = []
      void world.clients.readAt(api, id, position).then((result) => results.push(result))
      await flushPromises()
      await flushPromises()
      if (results[0]?.is !== 'plant' && results[0]?.is !== 'unreadablePlant') {
        world.broken(`${api.process.name} can't read what Redis has: ${results[0]?.is}`)
      }
    }
  }
}

export const isAtRest = (world: World): boolean => unrest(world).length === 0

/** The parts that have not come to rest. */
function unrest(world: World): string[] {
  const [apis, projecting] = [world.started(), world.projecting()]
  const services = [...apis.map(({ claimIndex }) => claimIndex), ...projecting.map(({ projector }) => projector)]
  const isAtEnd = ({ offset }: Checkpoint, p: Partition) => offset === world.log.end(p) - 1
  const isIdle = ({ isListening, waiting, claimIndex }: SimulatedApi) =>
    isListening && waiting === 0 && allPartitions(PARTITIONS).every((p) => isAtEnd(claimIndex.passed(p), p))
  const parts: [isAtRest: boolean, otherwise: string][] = [
    [apis.length === APIS, `${apis.length} apis run`],
    ...apis.map((api): [boolean, string] => [isIdle(api), `${api.process.name} is busy, or behind the log`]),
    [
      projecting.every(({ projector }) => [...projector.checkpoints()].every(([p, at]) => isAtEnd(at, p))),
      'a projector is not at the end',
    ],
    [world.isAtEnd(), 'Redis is not at the end'],
    [world.table?.isComplete() !== false, 'the table is not complete'],
  ]
  return [
    ...services.flatMap((service) => service.problems()),
    ...parts.flatMap(([isAtRest, otherwise]) => (isAtRest ? [] : [otherwise])),
  ]
}

/** Each api must list exactly the fold of the log, in pages of any length. */
async function checkLists(world: World, random: Random): Promise<void> {
  const listings = world.listening().map((api, n) => world.clients.listAll(api, 1 + n))
  if ((await responsesTo(world, random, listings)) === undefined) world.broken('a list gets no response')
}

async function checkRetries(world: World, random: Random): Promise<void> {
  const api = random.pick(world.listening())
  if (api === undefined) return
  for (const request of world.clients.unknown()) {
    await awaitSmallWindows(world, random)
    const retry = world.clients.retryUnknown(api, request)
    if ((await responsesTo(world, random, [retry])) === undefined)
      world.broken('a retry with the same key gets no response')
  }
}

/** The create before may have moved a small window beyond the checkpoint of Redis. */
const awaitSmallWindows = (world: World, random: Random) => runUntil(world, random, isAtRest)

/** Each api must create a plant and read every plant. */
async function checkService(world: World, random: Random): Promise<void> {
  for (const [n, api] of world.listening().entries()) {
    await awaitSmallWindows(world, random)
    const id = BigInt(1_000 + n) as PlantId
    const create = world.clients.createNew(api, random, id)
    for (const known of [id, ...IDS]) {
      void world.clients.readAt(api, known).then((result) => {
        if (result.is === 'coverageGap') world.broken(`${api.process.name} can't read though all has settled`)
      })
    }
    const [created] = (await responsesTo(world, random, [create])) ?? []
    if (created?.is !== 'created')
      world.broken(`${api.process.name} can't create though all has settled: ${created?.is}`)
  }
}

/** While no projector runs, the apis create plants, and read the plants of other apis, by the log alone. */
async function checkWithoutProjectors(world: World, random: Random): Promise<void> {
  for (const { process } of world.projecting()) world.crash(process, random)
  for (const [n, api] of world.listening().entries()) {
    const id = BigInt(4_000 + n) as PlantId
    const [created] = (await responsesTo(world, random, [world.clients.createNew(api, random, id)])) ?? []
    if (created?.is !== 'created') {
      world.broken(`${api.process.name} can't create while no projector runs: ${created?.is}`)
      return
    }
    const requests = world.listening().map((other) => world.clients.readAt(other, id, created))
    const reads = await responsesTo(world, random, requests)
    if (reads?.every(({ is }) => is === 'plant') !== true)
      world.broken("an api can't read a new plant while no projector runs")
  }
  world.startProjector(0, allPartitions(PARTITIONS))
  if (!(await runUntil(world, random, isAtRest))) world.broken('nothing settles after all projectors were dead')
}

/** The first rebuild may find a damaged generation and drop it; the second must succeed. */
const LAST_REBUILDS = 2
/** The share of schedules with a failover during the last rebuild: it takes long. */
const DISTURBED = 0.15
const DISTURBED_ROUNDS = 30
const CALLS_A_ROUND = 8

/** After the last fault a rebuild must succeed and leave the fold of the log and nothing else. */
export async function settleRebuilds(world: World, random: Random): Promise<void> {
  if (!(await runUntil(world, random, () => world.rebuilds.running().length === 0)))
    return world.broken('a rebuild does not end')
  if (random.chance(DISTURBED)) await disturb(world, random)
  let last: SimulatedRebuild | undefined
  for (let n = 0; n < LAST_REBUILDS && !hasSwitched(last); n++) {
    const rebuild = world.rebuilds.launch(random.pick([1_000, 4]) as number, false)
    last = rebuild
    if (!(await runUntil(world, random, () => rebuild.ended() !== undefined)))
      return world.broken('the last rebuild does not end')
  }
  world.rebuilds.running()
  if (!hasSwitched(last)) return world.broken(`the last rebuild fails: ${JSON.stringify(last?.ended())}`)
  if (!(await runUntil(world, random, isAtRest))) return world.broken('nothing settles after a rebuild')
  for (const { live, filling, generations } of world.master().partitions) {
    const names = [...generations.keys()].join()
    if (filling !== '' || names !== live) world.broken(`left over at rest: ${filling}, ${names}`)
  }
  world.onApplied()
}

/** Redis falls back during a rebuild; in half of the cases without writes that would show it. */
async function disturb(world: World, random: Random): Promise<void> {
  const rebuild = world.rebuilds.launch(random.pick([1_000, 4]) as number, true)
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
  if (!(await runUntil(world, random, () => rebuild.ended() !== undefined)))
    return world.broken('a rebuild that fell back does not end')
  if (!(await runUntil(world, random, isAtRest))) world.broken('nothing settles after Redis fell back')
}

function hasSwitched(rebuild: SimulatedRebuild | undefined): boolean {
  const ended = rebuild?.ended()
  return ended?.status === 'fulfilled' && ended.value.every(({ is }) => is === 'switched')
}
