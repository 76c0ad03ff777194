import { expect, it } from 'vitest'
import { type LogPosition, type Offset, parsePosition } from '../plant/position.ts'
import { PlantConsumerError } from './plant-consumer-error.ts'
import { createPositionWaits } from './position-waits.ts'

const PARTITIONS = 4
const ends = (...offsets: number[]) => offsets as Offset[]

/** Waits after these positions have been passed, in this order. */
function given(...positions: string[]) {
  const waits = createPositionWaits(PARTITIONS)
  function pass(position: string): void {
    const { partition, offset } = parsePosition(position, PARTITIONS) as LogPosition
    waits.passed(partition, offset)
  }
  positions.forEach(pass)
  return { ...waits, pass }
}

/** The state of a wait after everything that is due has run. */
async function stateOf(wait: Promise<void>): Promise<unknown> {
  const settled = wait.then(
    () => 'passed',
    (error: unknown) => (error instanceof PlantConsumerError ? error.code : error),
  )
  return Promise.race([settled, new Promise((resolve) => setImmediate(resolve, 'waits'))])
}

it.each<[string, string[], string, string]>([
  ['of an offset before one that was processed', ['3-121'], '3-120', 'passed'],
  ['of the next offset', ['3-119'], '3-120', 'waits'],
  ['of another partition', ['2-500'], '3-120', 'waits'],
  ['that was passed before the position went back', ['3-120', '3-7'], '3-120', 'passed'],
  ['of several partitions', ['3-120', '1-5'], '3-120, 1-5', 'passed'],
  ['of several partitions, one of which is behind', ['3-120', '1-4'], '3-120, 1-5', 'waits'],
  ['of one partition twice, where the higher one counts', ['3-120'], '3-119,3-121', 'waits'],
  ['of a partition that the topic does not have', ['3-120'], '4-0', 'invalid-position'],
  ['that is no position', [], '3-120, x', 'invalid-position'],
  ['that is no text', [], null as never, 'invalid-position'],
])('a wait for a position %s', async (_about, passed, position, state) => {
  expect(await stateOf(given(...passed).wait(position))).toBe(state)
})

it('a wait ends when the last of its partitions gets there, and not before', async () => {
  const { wait, pass, waitedFor } = given('3-100')
  const waiting = wait('3-99, 2-120, 1-5')
  pass('1-9')
  expect([await stateOf(waiting), ...waitedFor()]).toEqual(['waits', 2])
  pass('2-120')
  expect([await stateOf(waiting), ...waitedFor()]).toEqual(['passed'])
})

it('a wait fails with the reason of its signal, and no other wait with it', async () => {
  const { wait, pass } = given()
  const abort = new AbortController()
  const [aborted, other] = [wait('0-1', abort.signal), wait('0-1')]
  abort.abort('too late')
  expect([await stateOf(aborted), await stateOf(other)]).toEqual(['too late', 'waits'])
  expect(await stateOf(wait('0-1', abort.signal))).toBe('too late')
  pass('0-1')
  expect(await stateOf(other)).toBe('passed')
})

it('a wait fails when the consumer ends, then and later', async () => {
  const { wait, end, pass } = given('1-1')
  const waiting = wait('0-1')
  end(new PlantConsumerError('another-log', 'another log'))
  pass('0-1')
  expect(await stateOf(waiting)).toBe('another-log')
  expect(await stateOf(wait('1-1'))).toBe('another-log')
})

it('a check refuses a position that the log does not have, unless the end of its partition is unknown', async () => {
  const { wait, check } = given()
  const [known, unknown] = [wait('0-9, 1-4, 2-5'), wait('0-9, 1-5')]
  const text = '1-5 is not a position of this log, whose partition 1 ends before offset 5'
  await Promise.all([expect(unknown).rejects.toThrow(text), check(async () => ends(10, 5))])
  expect([await stateOf(unknown), await stateOf(known)]).toEqual(['invalid-position', 'waits'])
})

it('a check does not refuse a position that was written while the ends were read, and reads none while nothing waits', async () => {
  const { wait, check } = given()
  await check(() => Promise.reject(new Error('the ends were read')))
  const first = wait('0-9')
  const read = Promise.withResolvers<Offset[]>()
  const checking = check(() => read.promise)
  const later = wait('0-10')
  read.resolve(ends(10))
  await checking
  expect([await stateOf(first), await stateOf(later)]).toEqual(['waits', 'waits'])
})
