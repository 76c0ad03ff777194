import { createHash } from 'node:crypto'
import { textsOf } from '@plant-store/shared/plant/plant.ts'
import type { Claim } from '@plant-store/shared/plant/plant-created.ts'
import { formatPosition, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { formatCount } from '@plant-store/shared/runtime/format.ts'
import type { CliContext } from '../cli-context.ts'
import type { Store } from '../store/open-store.ts'
import { openOutputFile } from './output-file.ts'

type Export = ReturnType<typeof createExport>

/**
 * Writes an export to a file, completely or not at all, or to stdout. `fill` returns where the plants end. Rejects when
 * the signal of the context is aborted.
 */
export async function writeExport(
  { topic }: Pick<Store, 'topic'>,
  { printData, printError, signal }: Pick<CliContext, 'printData' | 'printError' | 'signal'>,
  output: string | undefined,
  fill: (target: Export) => Promise<readonly Offset[]>,
): Promise<void> {
  await using file = output === undefined ? undefined : await openOutputFile(output)
  const target = createExport(async (lines) => {
    signal.throwIfAborted()
    await (file?.write ?? printData)(lines)
  })
  const summary = await target.finish(topic, await fill(target))
  await file?.finish()
  const unreadable = summary.unreadable === 0 ? '' : `, ${summary.unreadable} of them not readable by this release`
  printError(`${formatCount(summary.plants, 'plant')}${unreadable}; SHA-256 ${summary.sha256}\n`)
}

/** Writes plants as lines, and their summary at the end. */
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

    /** Writes the last line, about all lines before it. An export without it is incomplete. */
    async finish(topic: string, ends: readonly Offset[]) {
      const summary = {
        topic,
        partitions: ends.length,
        plants,
        /** Plants whose event this release cannot read. */
        unreadable,
        /** The last offset of each partition with records, in the format that `--at` takes. */
        positions: ends.flatMap((end, partition) => (end > 0 ? [`${partition}-${end - 1}`] : [])).join(','),
        /** SHA-256 of all lines before this one. */
        sha256: hash.digest('hex'),
      }
      await write(`${JSON.stringify({ export: summary })}\n`)
      return summary
    },
  }
}

/** The id is a string, as in the event: many JSON parsers lose digits of it. The same log gives the same bytes. */
function plantLine(partition: Partition, { id, plant, offset, eventId }: Claim): string {
  const texts = plant === undefined ? { unreadable: true } : textsOf(plant)
  const position = formatPosition({ partition, offset })
  return `${JSON.stringify({ id: String(id), ...texts, position, event: eventId })}\n`
}
