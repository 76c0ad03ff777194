import { Failure } from '../../local/processes/failure.mjs'
import type { RunningContender } from '../contender.ts'
import type { MeasuredLoad } from '../load/measured-load.ts'

const NAMED_MISSING = 5

/**
 * Throws unless every response was as expected and every acknowledged plant is in the store of the contender. Otherwise
 * all figures of the run are worthless.
 */
export async function checkRun(
  { missing }: Pick<RunningContender, 'missing'>,
  loads: readonly Pick<MeasuredLoad, 'good' | 'acknowledged' | 'unexpected'>[],
): Promise<void> {
  for (const { good, unexpected } of loads) {
    const found = [...unexpected].map(([what, count]) => `${count} × ${what}`)
    if (found.length > 0) throw new Failure(`unexpected responses or errors: ${found.join(', ')}`)
    if (good === 0) throw new Failure('nothing was created')
  }
  const acknowledged = loads.flatMap((load) => [...load.acknowledged])
  const absent = await missing(acknowledged)
  if (absent === undefined || absent.length === 0) return
  const some = absent.slice(0, NAMED_MISSING).join(', ')
  throw new Failure(`${absent.length} of ${acknowledged.length} acknowledged plants are missing: ${some}`)
}
