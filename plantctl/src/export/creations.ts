import type { Offset } from '@plant-store/shared/plant/position.ts'

const BITS = 8

/** Which offsets of a partition created a plant, in one bit each. */
export function createCreations(end: Offset) {
  const bits = new Uint8Array(Math.ceil(end / BITS))
  const byteOf = (offset: Offset) => Math.floor(offset / BITS)
  return {
    add(offset: Offset): void {
      bits[byteOf(offset)] = (bits[byteOf(offset)] as number) | (1 << (offset % BITS))
    },
    has: (offset: Offset): boolean => ((bits[byteOf(offset)] as number) & (1 << (offset % BITS))) !== 0,
  }
}
