import { createHash } from 'node:crypto'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { plantLine } from './plant-line.ts'

/** What the last line of an export tells of all before it. */
export type ExportSummary = {
  topic: string
  partitions: number
  plants: number
  /** So many of them can't be read by this release. */
  unreadable: number
  /** The last offset of each partition that is in it, as `plantctl as-of` takes it; partitions without any are left out. */
  positions: string
  /** SHA-256 of all lines before this one. */
  sha256: string
}

/** Turns plants into lines, and tells at the end what they were. */
export function createExport(write: (lines: string) => Promise<void>) {
  const hash = createHash('sha256')
  let [plants, unreadable] = [0, 0]
  return {
    async add(partition: Partition, claims: readonly Claim[]): Promise<void> {
      if (claims.length === 0) return
      const lines = claims.map((claim) => plantLine(partition, claim)).join('')
      hash.update(lines)
      plants += claims.length
      unreadable += claims.filter(({ plant }) => plant === undefined).length
      await write(lines)
    },

    /** Writes the last line. An export without it is not whole. */
    async finish(topic: string, ends: readonly Offset[]): Promise<ExportSummary> {
      const summary = {
        ...{ topic, partitions: ends.length, plants, unreadable },
        positions: positionsOf(ends),
        sha256: hash.digest('hex'),
      }
      await write(`${JSON.stringify({ export: summary })}\n`)
      return summary
    },
  }
}

function positionsOf(ends: readonly Offset[]): string {
  return ends.flatMap((end, partition) => (end > 0 ? [`${partition}-${end - 1}`] : [])).join(',')
}
