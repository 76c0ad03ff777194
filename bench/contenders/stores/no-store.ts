import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import type { OpenStore } from '../create.ts'

const PARTITION = 0 as Partition

/** Stores nothing, and replies at once that the plant was created. */
export const openNoStore: OpenStore = async () => {
  let offset = 0
  return {
    create: async () => ({ is: 'created', partition: PARTITION, offset: offset++ as Offset }),
  }
}
