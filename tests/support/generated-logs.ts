import { eventIdOfBytes } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED } from '@plant-store/shared/plant/plant-created.ts'
import { type Offset, offsetOf } from '@plant-store/shared/plant/position.ts'
import { type Checkpoint, checkpointAt } from '@plant-store/shared/protocol/checkpoint.ts'
import fc from 'fast-check'
import { MAX_INT64, MIN_INT64, plants } from './generated-plants.ts'

/** Some records in log order, and the checkpoint after them: at the last one, or after it at a control record. */
export type LogBatch = { records: LogRecord[]; next: Checkpoint }

/** Few ids, so that they are claimed again and again; among them ids that a double cannot hold. */
const ids = fc.constantFrom(MIN_INT64, -1n, 0n, 2n ** 53n, 2n ** 53n + 1n, MAX_INT64) as fc.Arbitrary<PlantId>

/** Few event ids, so that events are repeated; some differ in one byte only, the first or the last or one between. */
const eventIds = fc
  .constantFrom('00'.repeat(16), `01${'00'.repeat(15)}`, `${'00'.repeat(8)}01${'00'.repeat(7)}`, `${'00'.repeat(15)}01`)
  .map((hex) => eventIdOfBytes(Buffer.from(hex, 'hex')))

type Content = Omit<LogRecord, 'offset' | 'claim'> & {
  claim?: Omit<NonNullable<LogRecord['claim']>, 'offset'>
}

const claim = fc.record({ id: ids, eventId: eventIds, plant: plants }).map((claim): Content => ({ claim }))
const unreadable = fc
  .record({
    id: ids,
    eventId: eventIds,
    parked: fc.constantFrom(PARKED.unknownVersion, PARKED.unreadablePayload),
  })
  .map(({ id, eventId, parked }): Content => ({ claim: { id, eventId, plant: undefined }, parked }))
const foreign = fc
  .constantFrom(PARKED.otherType, PARKED.badKey, PARKED.wrongPartition, PARKED.badEventId)
  .map((parked): Content => ({ parked }))

/** Offsets that Kafka skips: control records and aborted transactions. */
const skips = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) })

const contents = fc.oneof(
  { weight: 6, arbitrary: claim },
  { weight: 1, arbitrary: unreadable },
  { weight: 1, arbitrary: foreign },
)

/** The log of one partition, cut into batches at any place; some batches hold nothing but control records. */
export const logs: fc.Arbitrary<LogBatch[]> = fc
  .array(fc.tuple(fc.array(fc.tuple(skips, contents), { maxLength: 8 }), skips), {
    minLength: 1,
    maxLength: 10,
  })
  .map((batches) => {
    let end = 0
    return batches.flatMap(([written, trailing]) => {
      const start = end
      const records = written.map(([skipped, content]): LogRecord => {
        const offset = offsetOf(end + skipped)
        end = offset + 1
        const { claim, ...rest } = content
        return { offset, ...rest, ...(claim !== undefined && { claim: { ...claim, offset } }) }
      })
      end += trailing
      return end === start ? [] : [{ records, next: checkpointAt((end - 1) as Offset, records) }]
    })
  })
