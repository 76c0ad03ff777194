import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type AbortedTransaction, type FetchedMessage, keepCommitted } from './fetched-records.ts'

const COMMIT_MARKER = Buffer.from([0, 0, 0, 1])
const ABORT_MARKER = Buffer.from([0, 0, 0, 0])

type Step = { producer: number; do: 'write' | 'commit' | 'abort' | 'write outside' }

const steps = fc.array(
  fc.record<Step>({
    producer: fc.nat(2),
    do: fc.constantFrom('write', 'write', 'write', 'commit', 'abort', 'write outside'),
  }),
  { maxLength: 40 },
)

/** The log that these steps write, the aborted transactions in it, and the committed offsets. */
function play(played: readonly Step[]) {
  const messages: FetchedMessage[] = []
  const aborted: (AbortedTransaction & { marker: number })[] = []
  const open = new Map<number, number[]>()
  const committed: number[] = []
  for (const step of [...played, ...[0, 1, 2].map((producer): Step => ({ producer, do: 'abort' }))]) {
    const offset = messages.length
    const written = open.get(step.producer)
    const isMarker = step.do === 'commit' || step.do === 'abort'
    if (isMarker && written === undefined) continue
    messages.push({
      offset: String(offset),
      key: step.do === 'commit' ? COMMIT_MARKER : ABORT_MARKER,
      isControlRecord: isMarker,
      batchContext: { producerId: String(step.producer), inTransaction: step.do !== 'write outside' },
    })
    if (step.do === 'write') open.set(step.producer, [...(written ?? []), offset])
    if (step.do === 'write outside') committed.push(offset)
    if (!isMarker || written === undefined) continue
    open.delete(step.producer)
    if (step.do === 'commit') committed.push(...written)
    // Ordered by their ends, as brokers list them.
    else aborted.push({ producerId: String(step.producer), firstOffset: String(written[0]), marker: offset })
  }
  return { messages, aborted, committed }
}

it('committed records are kept, and aborted ones dropped, however transactions overlap and wherever the fetch starts', () => {
  fc.assert(
    fc.property(steps, fc.nat(40), (played, from) => {
      const { messages, aborted, committed } = play(played)
      const fetched = messages.slice(from)
      // A broker lists only the transactions that reach into the fetched range.
      const abortedTransactions = aborted.filter(({ marker }) => marker >= from)
      const kept = keepCommitted({ messages: fetched, abortedTransactions })
      const offsets = kept.filter(({ isControlRecord }) => !isControlRecord).map(({ offset }) => Number(offset))
      expect(offsets).toEqual(committed.filter((offset) => offset >= from).sort((a, b) => a - b))
    }),
  )
})
