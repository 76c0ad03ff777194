import { describe, expect, it } from 'vitest'
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

describe('a wait for a position', () => {
  it.each<[string, string[], string, string]>([
    ['of an offset that was processed', ['3-120'], '3-120', 'passed'],
    ['of an offset before it', ['3-121'], '3-120', 'passed'],
    ['of the next offset', ['3-119'], '3-120', 'waits'],
    ['of another partition', ['2-500'], '3-120', 'waits'],
    ['that was passed before the position went back', ['3-120', '3-7'], '3-120', 'passed'],
    ['of several partitions', ['3-120', '1-5'], '3-120, 1-5', 'passed'],
    ['of several partitions, one of which is behind', ['3-120', '1-4'], '3-120, 1-5', 'waits'],
    ['of one partition twice, where the higher one counts', ['3-120'], '3-119,3-121', 'waits'],
    ['of a partition that the topic does not have', ['3-120'], '4-0', 'invalid-position'],
    ['that is empty', [], '', 'invalid-position'],
    ['that is no position', [], '3-120, x', 'invalid-position'],
    ['that is no text', [], null as never, 'invalid-position'],
  ])('%s', async (_about, passed, position, state) => {
    expect(await stateOf(given(...passed).wait(position))).toBe(state)
  })

  it('ends when the last of its partitions gets there, and not before', async () => {
    const { wait, pass } = given('3-100')
    const waiting = wait('3-120, 1-5')
    pass('1-9')
    expect(await stateOf(waiting)).toBe('waits')
    pass('3-120')
    expect(await stateOf(waiting)).toBe('passed')
  })

  it('fails with the reason of its signal, and no other wait with it', async () => {
    const { wait, pass } = given()
    const abort = new AbortController()
    const [aborted, other] = [wait('0-1', abort.signal), wait('0-1')]
    abort.abort('too late')
    expect([await stateOf(aborted), await stateOf(other)]).toEqual(['too late', 'waits'])
    expect(await stateOf(wait('0-1', abort.signal))).toBe('too late')
    pass('0-1')
    expect(await stateOf(other)).toBe('passed')
  })

  it('fails when the consumer ends, then and later', async () => {
    const { wait, end, pass } = given('1-1')
    const waiting = wait('0-1')
    end(new PlantConsumerError('another-log', 'another log'))
    pass('0-1')
    expect(await stateOf(waiting)).toBe('another-log')
    expect(await stateOf(wait('1-1'))).toBe('another-log')
  })
})

describe('a check against the ends of the log', () => {
  it('refuses a position that the log does not have', async () => {
    const { wait, check } = given()
    const [known, unknown] = [wait('0-9, 1-4'), wait('0-9, 1-5')]
    const text = '1-5 is not a position of this log, whose partition 1 ends before offset 5'
    await Promise.all([expect(unknown).rejects.toThrow(text), check(async () => ends(10, 5, 0, 0))])
    expect([await stateOf(unknown), await stateOf(known)]).toEqual(['invalid-position', 'waits'])
  })

  it('does not refuse a position in a partition whose end is unknown', async () => {
    const { wait, check } = given()
    const waiting = wait('1-5')
    await check(async () => [10 as Offset, undefined])
    expect(await stateOf(waiting)).toBe('waits')
  })

  it('does not refuse a position that was written while the ends were read', async () => {
    const { wait, check } = given()
    const first = wait('0-9')
    const read = Promise.withResolvers<Offset[]>()
    const checking = check(() => read.promise)
    const later = wait('0-10')
    read.resolve(ends(10, 0, 0, 0))
    await checking
    expect([await stateOf(first), await stateOf(later)]).toEqual(['waits', 'waits'])
  })

  it('reads no ends while nothing waits', async () => {
    const { wait, check, pass } = given()
    const waiting = wait('0-1')
    pass('0-1')
    await waiting
    await check(() => Promise.reject(new Error('the ends were read')))
  })

  it('knows the partitions that are waited for', () => {
    const { wait, pass, waitedFor } = given('2-5')
    expect([...waitedFor()]).toEqual([])
    void wait('0-1, 2-5, 3-7')
    void wait('0-2')
    pass('3-7')
    expect([...waitedFor()]).toEqual([0])
  })
})
