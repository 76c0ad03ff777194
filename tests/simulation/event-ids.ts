import type { EventId } from '@plant-store/shared/plant/event-id.ts'

/** Who draws event ids: those of one never are another's. */
const WRITERS = { client: '000000000000', foreigner: '00000000f0e1', 'another log': '0000000007e2' }

/** The nth event id of a writer. */
export function eventIdOf(writer: keyof typeof WRITERS, n: number): EventId {
  return `${n.toString(16).padStart(8, '0')}-0000-4000-8000-${WRITERS[writer]}` as EventId
}
