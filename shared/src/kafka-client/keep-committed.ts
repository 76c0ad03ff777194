/** A record as kafkajs decodes it, before it drops control records. */
export type FetchedMessage = {
  offset: string
  key: Buffer | null
  isControlRecord: boolean
  batchContext: { producerId: string; inTransaction: boolean }
}

export type AbortedTransaction = { producerId: string; firstOffset: string }

/** The key of a control record: a version and a type, two bytes each (org.apache.kafka.common.record.ControlRecordType). */
const TYPE_AT = 2
const ABORT = 0

/**
 * Leaves out the records of aborted transactions, as the Java client does: a producer's records are left out
 * from the first offset of its aborted transaction to its abort marker. The one in kafkajs 2.2.4 takes
 * the transactions in the order they come, at most one a record, and any record with a key of four zero
 * bytes for a marker; so it lets through what was aborted while transactions overlapped, and two readers
 * who begin at different offsets may see different logs.
 */
export function keepCommitted<M extends FetchedMessage>({
  messages,
  abortedTransactions,
}: {
  messages: M[]
  abortedTransactions?: AbortedTransaction[] | null
}): M[] {
  if (!abortedTransactions || abortedTransactions.length === 0) return messages
  const coming = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: BigInt(firstOffset) }))
    .sort((a, b) => Number(a.firstOffset - b.firstOffset))
  const aborting = new Set<string>()
  return messages.filter(({ offset, key, isControlRecord, batchContext: { producerId, inTransaction } }) => {
    for (let [first] = coming; first !== undefined && first.firstOffset <= BigInt(offset); [first] = coming) {
      aborting.add(first.producerId)
      coming.shift()
    }
    if (!isControlRecord) return !(inTransaction && aborting.has(producerId))
    if (key?.readInt16BE(TYPE_AT) === ABORT) aborting.delete(producerId)
    return true
  })
}
