import { formatPosition, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { CliContext } from '../../command.ts'
import { createPaint } from '../../terminal/layout.ts'
import { eventJson, eventLine } from './format-event.ts'
import type { LogEvent } from './read-events.ts'
import type { ClaimRuling } from './rulings.ts'
import type { OffsetRange } from './selection.ts'

export type RuledEvent = { event: LogEvent; ruling: ClaimRuling | undefined }

type Line = { text: string; sortMs: number; partition: Partition; offset: Offset }

type Options = { json: boolean; raw: boolean; limit: number; onEnough(): void }

const SORTED_RECORDS_MAX = 10_000
const SORTED_CHARACTERS_MAX = 64 * 1_048_576
const LINES_PER_WRITE = 1_000

/**
 * Prints records as they are read, partition by partition; if they are few, all of them sorted by time. A partition
 * always stays in log order: a record sorts no earlier than those before it.
 */
export function openEventPrinter(
  { print, colours }: Pick<CliContext, 'print' | 'colours'>,
  ranges: ReadonlyMap<Partition, OffsetRange>,
  { json, raw, limit, onEnough }: Options,
) {
  const paint = createPaint(colours)
  const records = [...ranges.values()].reduce(
    (sum, { from, end = Number.POSITIVE_INFINITY }) => sum + Math.max(0, end - from),
    0,
  )
  const positionWidth = Math.max(
    ...[...ranges].map(([partition, { from, end = from }]) => formatPosition({ partition, offset: end }).length),
  )
  let isSorting = records <= SORTED_RECORDS_MAX
  let buffered: Line[] = []
  let bufferedCharacters = 0
  let printed = 0
  const latestMs = new Map<Partition, number>()

  function lineOf({ event, ruling }: RuledEvent): Line {
    const { partition, offset, stored } = event
    const sortMs = Math.max(stored.timestampMs, latestMs.get(partition) ?? Number.NEGATIVE_INFINITY)
    latestMs.set(partition, sortMs)
    const text = json ? eventJson(event, ruling, raw) : eventLine(event, ruling, paint, positionWidth)
    return { text, sortMs, partition, offset }
  }

  async function write(lines: readonly Line[]): Promise<void> {
    const allowed = lines.slice(0, limit - printed)
    printed += allowed.length
    for (let n = 0; n < allowed.length; n += LINES_PER_WRITE) {
      const batch = allowed.slice(n, n + LINES_PER_WRITE)
      await print(`${batch.map(({ text }) => text).join('\n')}\n`)
    }
    if (printed >= limit) onEnough()
  }

  async function flush(): Promise<void> {
    const lines = buffered.sort((a, b) => a.sortMs - b.sortMs || a.partition - b.partition || a.offset - b.offset)
    buffered = []
    await write(lines)
  }

  return {
    async print(events: readonly RuledEvent[]): Promise<void> {
      const lines = events.map(lineOf)
      if (!isSorting) return write(lines)
      buffered.push(...lines)
      bufferedCharacters += lines.reduce((sum, { text }) => sum + text.length, 0)
      if (bufferedCharacters <= SORTED_CHARACTERS_MAX) return
      isSorting = false
      await flush()
    },

    /** Prints the buffered records. */
    end: flush,
    count: () => printed,
  }
}
