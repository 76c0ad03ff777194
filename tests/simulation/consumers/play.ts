import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { inMemory } from '@plant-store/shared/consumer/first-claims/in-memory.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { flushPromises } from '../clock.ts'
import { ALL } from '../kafka.ts'
import { createRandom, pick, pickByWeight } from '../random.ts'
import { type SimulatedConsumer, startConsumer } from './consumer.ts'
import { createWorld, type World } from './world.ts'

const PLACES = [0, 1]
const STEPS = 5_000
const ROUNDS_TO_SETTLE = 1_000
const ROUND_MS = 100
/** Longer than the time limit of a delivery. */
const LONG_MS = 3_000

/**
 * Plays two consumers of one group, first with faults that follow from a seed, then without. Each creation must be
 * delivered, and no void claim. Returns the first broken guarantee, if any.
 */
export async function play(
  seed: number,
  changed = (firstClaims: OpenFirstClaims, _world: World) => firstClaims,
): Promise<string | undefined> {
  const random = createRandom(seed)
  const world = createWorld(random)
  const { network, clock, brokers } = world
  const stored = new Map<number, OpenFirstClaims>()
  const members: SimulatedConsumer[] = []

  /** Both kinds of first claims: new at each start, and stored across the starts of one member. */
  async function firstClaimsOf(place: number): Promise<OpenFirstClaims> {
    const fresh = await inMemory().open({ topic: 'plants', partitions: ALL.length })
    if (random.chance(0.5)) return fresh
    if (random.chance(0.1)) stored.delete(place)
    const found = stored.get(place) ?? fresh
    stored.set(place, found)
    return found
  }

  async function start(place: number): Promise<void> {
    members[place]?.kill()
    members[place] = startConsumer(world, random, changed(await firstClaimsOf(place), world))
  }

  function rebalance(): void {
    world.newGeneration()
    const joined = PLACES.filter(() => world.isCalm || random.chance(0.7))
    const shares = new Map(joined.map((place): [number, Partition[]] => [place, []]))
    for (const partition of ALL) shares.get(random.pick(joined) ?? 0)?.push(partition)
    for (const [place, share] of shares) members[place]?.assign(share)
  }

  async function moveGroup(): Promise<void> {
    for (const member of members) member.kill()
    world.moveGroup()
    for (const place of PLACES) await start(place)
    rebalance()
  }

  const member = () => pick(members, random)
  /** With their relative frequencies. */
  const steps: [weight: number, step: () => unknown][] = [
    [20, () => world.append()],
    [250, () => member().deliver(pick(ALL, random))],
    [150, () => network.proceed(random)],
    [2, () => network.lose(random)],
    [40, () => member().commit()],
    [6, () => clock.advance(clock.untilNext() ?? 0)],
    [15, () => clock.advance(LONG_MS)],
    [3, rebalance],
    [4, () => member().pause(random.chance(0.5))],
    [1, () => start(pick(PLACES, random)).then(rebalance)],
    [0.3, moveGroup],
    [0.3, () => brokers.elect(random)],
  ]
  const weights = steps.map(([weight]) => weight)

  network.set(pick([0, 0.5, 0.9], random), random)
  for (const place of PLACES) await start(place)
  rebalance()
  for (let left = STEPS; left > 0 && world.firstBroken() === undefined; left--) {
    await pickByWeight(steps, weights, random)?.[1]()
    await flushPromises()
  }

  world.isCalm = true
  network.calmDown()
  brokers.recover()
  for (const each of members) each.pause(false)
  rebalance()
  const areDone = () => members.every((each) => each.isDone())
  for (let left = ROUNDS_TO_SETTLE; left > 0 && world.firstBroken() === undefined && !areDone(); left--) {
    for (const each of members) for (const partition of ALL) each.deliver(partition)
    await flushPromises()
    clock.advance(ROUND_MS)
    await flushPromises()
  }
  if (!areDone()) world.broken('the consumers do not come to the end')
  if (world.isOwed()) world.broken('a creation was never delivered')
  for (const each of members) each.kill()
  return world.firstBroken()
}
