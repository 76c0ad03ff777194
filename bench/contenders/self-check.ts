import { randomBytes } from 'node:crypto'
import type { RunningContender } from '../contender.ts'
import { bodyOf } from '../plant.ts'

/** Enough that some of them are concurrent in every store. */
const CREATES_AT_ONCE = 32
const DUPLICATE_ID = 40003

type CheckResponse = { status: number; error?: number }

/**
 * Checks what the row of a contender claims, before it is measured. The contender accepts only creates with the right
 * token. If it promises unique ids, one of many concurrent creates of an id succeeds, the others are duplicates, and
 * the plant is stored.
 *
 * @throws {Error} with the unexpected responses
 */
export async function checkContender(running: RunningContender, unique: boolean): Promise<void> {
  expect('a create without the right token', [await create({ ...running, token: 'another' }, newId())], {
    refused: 1,
  })
  const id = newId()
  expect('a create', [await create(running, id)], { created: 1 })
  if (!unique) return
  expect('a second create of one id', [await create(running, id)], { duplicates: 1 })
  const wanted = newId()
  const together = Array.from({ length: CREATES_AT_ONCE }, () => create(running, wanted))
  expect(`${CREATES_AT_ONCE} creates of one id at once`, await Promise.all(together), {
    created: 1,
    duplicates: CREATES_AT_ONCE - 1,
  })
  const never = newId()
  const missing = await running.missing([id, wanted, never])
  if (missing !== undefined && (missing.length !== 1 || missing[0] !== never))
    throw new Error(
      `of three plants only ${never}, which was never created, should be missing; missing: ${missing.join(', ')}`,
    )
}

type Expected = { created?: number; duplicates?: number; refused?: number }

function expect(
  what: string,
  responses: readonly CheckResponse[],
  { created = 0, duplicates = 0, refused = 0 }: Expected,
) {
  const count = (is: (answer: CheckResponse) => boolean) => responses.filter(is).length
  const seen = {
    created: count(({ status }) => status === 200),
    duplicates: count(({ status, error }) => status === 400 && error === DUPLICATE_ID),
    refused: count(({ status }) => status === 401),
  }
  if (seen.created !== created || seen.duplicates !== duplicates || seen.refused !== refused)
    throw new Error(`${what}: answered ${JSON.stringify(responses)}`)
}

async function create({ url, token }: Pick<RunningContender, 'url' | 'token'>, id: bigint): Promise<CheckResponse> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: bodyOf(id),
  })
  const { error } = (await response.json()) as { error?: number }
  return error === undefined ? { status: response.status } : { status: response.status, error }
}

const newId = () => randomBytes(8).readBigInt64BE()
