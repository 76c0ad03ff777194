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

function hasSwitched(rebuild: SimulatedRebuild | undefined): boolean {
  const ended = rebuild?.ended()
  return ended !== undefined && 'finished' in ended && ended.finished.every(({ is }) => is === 'switched')
}
