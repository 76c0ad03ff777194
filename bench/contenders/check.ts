import { Failure } from '../../local/processes/failure.mjs'
import type { MeasuredLoad } from '../load/load.ts'
import { bodyOf, newIds, TOKEN } from '../plant.ts'
import type { Running } from './contenders.ts'

/** Enough that some of them are concurrent in every store. */
const CREATES_AT_ONCE = 32
const DUPLICATE_ID = 40003
const NAMED_MISSING = 5

/**
 * Checks the claims of a contender before it is measured: it accepts only creates with the right token, and stores a
 * plant. If it promises unique ids, one of many concurrent creates of an id succeeds, and the others are duplicates.
 *
 * @throws {Failure} with the unexpected responses
 */
export async function checkContender({ urls: [url = ''], missing }: Running, isUnique: boolean): Promise<void> {
  const newId = newIds()
  const [id, never] = [newId(), newId()]
  const count = isUnique ? CREATES_AT_ONCE : 1
  const responses = await Promise.all(Array.from({ length: count }, () => create(url, id)))
  responses.push(await create(url, id, 'another token'))
  const expected = ['200', ...Array(count - 1).fill(`400 ${DUPLICATE_ID}`), '401']
  if (responses.toSorted().join() !== expected.join())
    throw new Failure(`${count} creates of one id, and one with a wrong token: ${responses.join(', ')}`)
  const absent = (await missing?.([id, never])) ?? [never]
  if (absent.join() !== String(never))
    throw new Failure(`of ${id} and ${never} only the second was not created; missing: ${absent.join(', ')}`)
}

async function create(url: string, id: bigint, token = TOKEN): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/plants`, { method: 'POST', headers, body: bodyOf(id) })
  const { error } = (await response.json()) as { error?: number }
  return response.status === 400 ? `400 ${error}` : String(response.status)
}

type CheckedLoad = Pick<MeasuredLoad, 'acknowledged' | 'unexpected'>

/** Throws unless every response was as expected and every acknowledged plant is stored. */
export async function checkRun({ missing }: Pick<Running, 'missing'>, loads: readonly CheckedLoad[]): Promise<void> {
  const found = loads.flatMap(({ unexpected }) => [...unexpected].map(([what, count]) => `${count} × ${what}`))
  if (found.length > 0) throw new Failure(`unexpected responses or errors: ${found.join(', ')}`)
  const acknowledged = loads.flatMap((load) => [...load.acknowledged])
  if (acknowledged.length === 0) throw new Failure('nothing was created')
  const absent = (await missing?.(acknowledged)) ?? []
  if (absent.length === 0) return
  const some = absent.slice(0, NAMED_MISSING).join(', ')
  throw new Failure(`${absent.length} of ${acknowledged.length} acknowledged plants are missing: ${some}`)
}
