import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OpenFirstClaims } from '@plant-store/shared/consumer/first-claims/first-claims.ts'
import { inMemory } from '@plant-store/shared/consumer/first-claims/in-memory.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { createRandom } from '../random.ts'
import { type SimulatedConsumer, startConsumer } from './consumer.ts'
import { ALL, createWorld, type World } from './world.ts'

const PLACES = [0, 1]
const STEPS = 300
const TURNS_TO_SETTLE = 5_000

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

  async function step(): Promise<void> {
    const choice = random.below(80)
    const place = random.pick(PLACES) as number
    if (choice < 60) world.append()
    else if (choice < 70) rebalance()
    else if (choice < 74) await members[place]?.pauseAWhile()
    else if (choice < 77) await start(place).then(rebalance)
    else if (choice === 77) {
      for (const member of members) member.kill()
      world.moveGroup()
      for (const each of PLACES) await start(each)
      rebalance()
    }
    await world.aWhile(8)
  }

  for (const place of PLACES) await start(place)
  rebalance()
  for (let left = STEPS; left > 0 && world.firstBroken() === undefined; left--) await step()
  world.isCalm = true
  rebalance()
  for (let left = TURNS_TO_SETTLE; left > 0 && world.firstBroken() === undefined; left--) {
    if (members.every((member) => member.isDone())) break
    await nextTurn()
  }
  if (members.some((member) => !member.isDone())) world.broken('the consumers do not come to the end')
  if (world.isOwed()) world.broken('a creation was never delivered')
  for (const member of members) member.kill()
  return world.firstBroken()
}
