import { type EventVersion, version1 } from '@plant-store/shared/plant/payload.ts'
import { MAX_TEXT_CODE_POINTS, type NewPlant, type Plant } from '@plant-store/shared/plant/plant.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { plantWith } from './generated-plants.ts'

// A version that no release has: tests rehearse with it what one would do to a running store.

/** Names by language, and any number of tags. */
type PlantVersion2 = { names: Record<string, string>; tags: string[] }

const version2: EventVersion<PlantVersion2> = {
  contentType: Buffer.from('application/json; version=2'),
  read(payload, id) {
    const { id: said, names, tags } = JSON.parse(payload.toString())
    const isPayload = said === id.toString() && names?.en?.length <= MAX_TEXT_CODE_POINTS
    return isPayload ? { names, tags } : undefined
  },
}

const fromVersion1 = ({ name, tag }: Plant): PlantVersion2 => ({
  names: { en: name },
  tags: tag === undefined ? [] : [tag],
})

function toPlant({ names, tags: [tag] }: PlantVersion2): Plant {
  return plantWith({ name: names.en as string, ...(tag !== undefined && { tag }) })
}

/** Reads a version as the next one. The contract of the new version defines what an old payload lacks. */
const upcast = <Old, New>({ contentType, read }: EventVersion<Old>, toNext: (old: Old) => New): EventVersion<New> => ({
  contentType,
  read(payload, id, key) {
    const old = read(payload, id, key)
    return old === undefined ? undefined : toNext(old)
  },
})

/** All versions of the release that knows this one: version 1 is read by way of it. */
export const WITH_VERSION_2 = [upcast(version1, fromVersion1), version2].map((version) => upcast(version, toPlant))

/** As that release would write it. */
export function plantCreatedVersion2(
  plant: NewPlant,
  ...more: [Parameters<typeof plantCreated>[1], number]
): NewRecord {
  const { id, name, tag } = plant
  const payload = {
    id: id.toString(),
    names: { en: name, de: `${name}!` },
    tags: tag === undefined ? [] : [tag],
  }
  const record = plantCreated(plant, ...more)
  return {
    ...record,
    value: Buffer.from(JSON.stringify(payload)),
    headers: { ...record.headers, 'content-type': version2.contentType },
  }
}
