import type { SimulatedRebuild } from './operator.ts'
import type { Random } from './random.ts'
import { isAtRest } from './settle.ts'
import { goOn } from './turns.ts'
import type { World } from './world.ts'

/** What is damaged is found by one, and dropped; so the second succeeds. */
const LAST_REBUILDS = 2

/** After the last fault a rebuild succeeds, and leaves the fold of the log and nothing else. */
export async function settleRebuilds(world: World, random: Random): Promise<void> {
  if (!(await goOn(world, random, () => world.operators.running().length === 0)))
    return world.broken('a rebuild does not end')
  await disturb(world, random)
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

/** Redis falls back under a rebuild, and nothing is written: it has to notice by itself. */
async function disturb(world: World, random: Random): Promise<void> {
  const rebuild = world.operators.begin(1_000, true)
  const rounds = async (count: number) => {
    let left = count
    await goOn(world, random, () => left-- === 0)
  }
  await rounds(random.below(4))
  world.snapshot()
  await rounds(random.below(4))
  world.failOver(random)
  world.reconnectAll()
  if (!(await goOn(world, random, () => rebuild.ended() !== undefined)))
    return world.broken('a rebuild does not end that fell back')
  if (!(await goOn(world, random, isAtRest))) world.broken('nothing settles after Redis fell back')
}

function hasSwitched(rebuild: SimulatedRebuild | undefined): boolean {
  const ended = rebuild?.ended()
  return ended !== undefined && 'finished' in ended && ended.finished.every(({ is }) => is === 'switched')
}
