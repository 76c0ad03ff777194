import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import type { SimulatedRebuild } from './operator.ts'
import type { Random } from './random.ts'
import { isAtRest } from './settle.ts'
import { goOn, round } from './turns.ts'
import type { World } from './world.ts'

/** What is damaged is found by one, and dropped; so the second succeeds. */
const LAST_REBUILDS = 2
/** In so many of all schedules: it takes long. */
const DISTURBED = 0.15
const DISTURBED_ROUNDS = 30
const CALLS_A_ROUND = 8

/** After the last fault a rebuild succeeds, and leaves the fold of the log and nothing else. */
export async function settleRebuilds(world: World, random: Random): Promise<void> {
  if (!(await goOn(world, random, () => world.operators.running().length === 0)))
    return world.broken('a rebuild does not end')
  if (random.chance(DISTURBED)) await disturb(world, random)
  let last: SimulatedRebuild | undefined
  for (let n = 0; n < LAST_REBUILDS && !hasSwitched(last); n++) {
    const rebuild = world.operators.begin(random.pick([1_000, 4]) as number, false)
    last = rebuild
    if (!(await goOn(world, random, () => rebuild.ended() !== undefined)))
      return world.broken('the last rebuild does not end')
  }
  world.operators.running()
  if (!hasSwitched(last)) return world.broken(`the last rebuild fails: ${JSON.stringify(last?.ended())}`)
  if (!(await goOn(world, random, isAtRest))) return world.broken('nothing settles after a rebuild')
  for (const { live, filling, generations } of world.master().partitions) {
    const names = [...generations.keys()].join()
    if (filling !== undefined || names !== (live ?? ''))
      world.broken(`at rest there is left: ${filling}, ${names}`)
  }
  world.surroundings.onApplied()
}

/** Redis falls back under a rebuild; in half of the cases nothing is written, and it has to notice by itself. */
async function disturb(world: World, random: Random): Promise<void> {
  const rebuild = world.operators.begin(random.pick([1_000, 4]) as number, true)
  const api = random.chance(0.5) ? random.pick(world.listening()) : undefined
  // Calls take their time: what is verified when all is written takes a while, too.
  world.network.set(0, random)
  for (let left = random.below(DISTURBED_ROUNDS); left > 0; left--) {
    await round(world, random)
    for (let n = 0; n < CALLS_A_ROUND; n++) world.network.proceed(random)
    if (random.chance(0.2)) world.snapshot()
    if (api !== undefined && random.chance(0.3))
      void world.clients.createNew(api, random, (3_000n + BigInt(left)) as PlantId)
  }
  world.failOver(random)
  world.reconnectAll()
  world.network.calmDown()
  if (!(await goOn(world, random, () => rebuild.ended() !== undefined)))
    return world.broken('a rebuild does not end that fell back')
  if (!(await goOn(world, random, isAtRest))) world.broken('nothing settles after Redis fell back')
}

function hasSwitched(rebuild: SimulatedRebuild | undefined): boolean {
  const ended = rebuild?.ended()
  return ended !== undefined && 'finished' in ended && ended.finished.every(({ is }) => is === 'switched')
}
