/**
 * Consecutive plants of a generation in log order, as span.lua packs them: the ids in decimal with commas between, the
 * length of each entry in two bytes, big-endian, and the entries one after another. For a known number of plants it
 * tells every byte of each, and where it belongs.
 */
export type PackedSpan = { ids: Buffer; lengths: Buffer; entries: Buffer }

export function sameSpan(a: PackedSpan, b: PackedSpan): boolean {
  return a.ids.equals(b.ids) && a.lengths.equals(b.lengths) && a.entries.equals(b.entries)
}
