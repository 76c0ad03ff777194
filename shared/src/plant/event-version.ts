import type { PlantId } from './plant-id.ts'

/** A version of the event, and what becomes of its payload. */
export type EventVersion<Content> = {
  /** The whole value of its `content-type` header. */
  contentType: Buffer
  /** What the payload says for this id, whose canonical text is `key`; undefined if it is no payload of this version. */
  read(payload: Buffer, id: PlantId, key: Buffer): Content | undefined
}

/**
 * Versions, whatever their age, as what the next one says: `[...upcast(olderOnes, toTheNext), theNext]` are all versions in the
 * words of the newest. An upcast is pure and always succeeds: what an old version does not say, its contract says.
 */
export function upcast<Old, New>(
  versions: readonly EventVersion<Old>[],
  toTheNext: (old: Old) => New,
): EventVersion<New>[] {
  return versions.map(({ contentType, read }) => ({
    contentType,
    read(payload, id, key) {
      const old = read(payload, id, key)
      return old === undefined ? undefined : toTheNext(old)
    },
  }))
}
