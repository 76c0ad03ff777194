import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { newPlant } from '../support/generated-plants.ts'
import type { Random } from './random.ts'

/** Writers of events; no two of them share an event id. */
const WRITERS = { client: '000000000000', foreigner: '00000000f0e1', 'another log': '0000000007e2' }

/** The nth event id of a writer. */
export function eventIdOf(writer: keyof typeof WRITERS, n: number): EventId {
  return `${n.toString(16).padStart(8, '0')}-0000-4000-8000-${WRITERS[writer]}` as EventId
}

/** The meaning of a record of another producer. */
type Meaning = 'plant' | 'unreadable claim' | 'foreign'

const KINDS: [Meaning, (record: NewRecord, partitions: number) => Partial<NewRecord>][] = [
  ['foreign', ({ headers }) => ({ headers: { ...headers, ce_type: Buffer.from('PlantWatered') } })],
  ['foreign', ({ key }) => ({ key: Buffer.from(`0${key.toString()}`) })],
  ['foreign', ({ headers }) => ({ headers: { ...headers, ce_id: Buffer.from('no event id') } })],
  ['foreign', ({ partition }, partitions) => ({ partition: ((partition + 1) % partitions) as Partition })],
  [
    'unreadable claim',
    ({ headers }) => ({
      headers: { ...headers, 'content-type': Buffer.from('application/json; version=9') },
    }),
  ],
  ['unreadable claim', () => ({ value: Buffer.from('no plant') })],
  ['plant', () => ({})],
]

/** A record of another producer, and its meaning. */
export function foreignRecord(
  { id, eventId, partitions }: { id: PlantId; eventId: EventId; partitions: number },
  random: Random,
): { record: NewRecord; meaning: Meaning } {
  const plant = plantCreated(newPlant(id, { name: `foreign ${eventId}` }), eventId, partitions)
  const [meaning, change] = random.pick(KINDS) as (typeof KINDS)[number]
  return { record: { ...plant, ...change(plant, partitions) }, meaning }
}

/** The meaning that the product gives a record. */
export function meaningOf({ claim }: LogRecord): Meaning {
  if (claim === undefined) return 'foreign'
  return claim.plant === undefined ? 'unreadable claim' : 'plant'
}
