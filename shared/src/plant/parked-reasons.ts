import { PARKED, type Parked } from './plant-created.ts'

const NAMES = new Map<number, keyof typeof PARKED>(
  Object.entries(PARKED).map(([name, number]) => [number, name as keyof typeof PARKED]),
)

const WORDS: Record<keyof typeof PARKED, string> = {
  otherType: 'its header ce_type is not PlantCreated',
  badKey: 'its key is no id in canonical decimal',
  wrongPartition: 'its key belongs to another partition',
  badEventId: 'its header ce_id is no event id',
  unknownVersion: 'its header content-type names a version that this release does not know; it keeps its id',
  unreadablePayload: 'its payload is no plant with that id; it keeps its id',
}

/** The name of a reason; one that a newer release stored has none here. */
export function reasonName(reason: number): string {
  return NAMES.get(reason) ?? `reason ${reason}`
}

/** Why a record is parked, in words. */
export function reasonWords(reason: number): string {
  const name = NAMES.get(reason)
  return name === undefined ? `reason ${reason}, of a newer release` : WORDS[name]
}

/** Whether such a record claims its id though it can't be read. */
export function claimsItsId(reason: number): boolean {
  return reason === (PARKED.unknownVersion as Parked) || reason === PARKED.unreadablePayload
}
