import { formatPosition, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { CliContext } from '../../command.ts'
import { createPaint } from '../../terminal/paint.ts'
import { eventJson, eventLine } from './format-event.ts'
import type { LogEvent } from './log-event.ts'
import type { Ruled } from './rulings.ts'
import type { Shown } from './selection.ts'

export type RuledEvent = { event: LogEvent; ruled: Ruled | undefined }

type Line = { text: string; sortMs: number; partition: Partition; offset: Offset }

type Options = { json: boolean; raw: boolean; limit: number; onEnough(): void }

const SORTED_RECORDS_MAX = 10_000
const SORTED_CHARACTERS_MAX = 64 * 1_048_576
const LINES_PER_WRITE = 1_000

/**
 * Prints records as they come, partition by partition; of few records all in the order of their time. A partition
 * stays in its own order in any case: a record counts as no earlier than those before it.
 */
export function openEventPrinter(
  { out, colours }: Pick<CliContext, 'out' | 'colours'>,
  shown: ReadonlyMap<Partition, Shown>,
  { json, raw, limit, onEnough }: Options,
) {
  const paint = createPaint(colours)
  const ranges = [...shown.values()]
  const selected = ranges.reduce(
    (sum, { from, end = Number.POSITIVE_INFINITY }) => sum + Math.max(0, end - from),
    0,
  )
  const positionWidth = Math.max(
    ...[...shown].map(
      ([partition, { from, end = from }]) => formatPosition({ partition, offset: end }).length,
    ),
  )
  let isSorting = selected <= SORTED_RECORDS_MAX
  let held: Line[] = []
  let heldCharacters = 0
  let printed = 0
  const latestMs = new Map<Partition, number>()

  function lineOf({ event, ruled }: RuledEvent): Line {
    const { partition, offset, stored } = event
    const sortMs = Math.max(stored.timestampMs, latestMs.get(partition) ?? Number.NEGATIVE_INFINITY)
    latestMs.set(partition, sortMs)
    const text = json ? eventJson(event, ruled, raw) : eventLine(event, ruled, paint, positionWidth)
    return { text, sortMs, partition, offset }
  }

  async function write(lines: readonly Line[]): Promise<void> {
    const wanted = lines.slice(0, limit - printed)
    printed += wanted.length
    for (let n = 0; n < wanted.length; n += LINES_PER_WRITE) {
      const some = wanted.slice(n, n + LINES_PER_WRITE)
      await out(`${some.map(({ text }) => text).join('\n')}\n`)
    }
    if (printed >= limit) onEnough()
  }

  async function release(): Promise<void> {
    const lines = held.sort((a, b) => a.sortMs - b.sortMs || a.partition - b.partition || a.offset - b.offset)
    held = []
    await write(lines)
  }

  return {
    async print(events: readonly RuledEvent[]): Promise<void> {
      const lines = events.map(lineOf)
      if (!isSorting) return write(lines)
      held.push(...lines)
      heldCharacters += lines.reduce((sum, { text }) => sum + text.length, 0)
      if (heldCharacters <= SORTED_CHARACTERS_MAX) return
      isSorting = false
      await release()
    },

    /** Prints what was held back. */
    end: release,
    count: () => printed,
  }
}
