import { allPartitions } from '@plant-store/shared/plant/position.ts'
import type { Random } from './random.ts'
import { PARTITIONS, type World } from './world.ts'

/** Within so many rounds after the last fault everything has settled. */
const SETTLING_ROUNDS = 400
const ROUND_MS = 100

/** Lets all that can go on by itself go on: the code under test waits for promises only. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** All that follow the log are given some of it, and a little time passes. */
export async function round(world: World, random: Random, isCalm = true): Promise<void> {
  for (const partition of allPartitions(PARTITIONS)) {
    for (const { tail } of world.started()) tail.deliver(partition, random, isCalm)
    for (const { follower } of world.projecting()) follower.deliver(partition, random, isCalm)
    for (const { follower } of world.operators.running()) follower()?.deliver(partition, random, isCalm)
  }
  await turn()
  world.clock.advance(ROUND_MS)
  await turn()
}

/** True as soon as it is so; false when it is not within the rounds there are. */
export async function goOn(
  world: World,
  random: Random,
  isSo: (world: World) => boolean,
  isCalm = true,
): Promise<boolean> {
  for (let n = 0; n < SETTLING_ROUNDS; n++) {
    if (world.firstBroken() !== undefined || isSo(world)) return true
    await round(world, random, isCalm)
  }
  return false
}
