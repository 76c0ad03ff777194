import { claimsItsId, PARKED, reasonText } from '@plant-store/shared/plant/plant-created.ts'
import {
  after,
  formatPosition,
  type LogPosition,
  type Offset,
  parsePosition,
} from '@plant-store/shared/plant/position.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, readOptions } from '../options.ts'
import { type Store, withStore } from '../store/open-store.ts'
import { readLogEnds } from '../store/read-log.ts'
import { createPaint } from '../terminal/layout.ts'
import { safeText } from '../terminal/safe-text.ts'
import { eventHead, eventJson, parkedJson } from './events/format-event.ts'
import { type LogEvent, type RuledEvent, readRuledEvents } from './events/read-events.ts'

const VALUE_CHARACTERS = 2_000
const NAME_CHARACTERS = 100
const help = `Shows one record of the log: its content, why it is parked, and how this release reads it.

  plantctl parked show 3-120
  plantctl parked show 3-120 --raw | jq -r .raw.value | base64 -d

  --json  one JSON object
  --raw   as --json, with the complete key, headers and value in base64

The position is one of "plantctl parked list", <partition>-<offset>.

Exit codes: 0 shown, 1 there is no such record, or Kafka or Redis does not respond.
`

type FoundRecord = RuledEvent & { reason: number | undefined }

export const parkedShow: Command = {
  summary: 'shows one record, and how this release reads it',
  help,
  async run(args, context) {
    const { values, positionals } = readOptions(args, { json: FLAG, raw: FLAG }, true)
    const [text, ...others] = positionals
    if (text === undefined || others.length > 0) throw new UsageError('expected one position, such as 3-120')
    const record = await withStore(context, (store) => {
      const position = parsePosition(text, store.partitions)
      if (position === undefined) {
        throw new UsageError(
          `${text}: expected a position such as 3-120: a partition, at most ${store.partitions - 1}, and an offset`,
        )
      }
      return find(store, position, context.signal)
    })
    const { json = false, raw = false } = values
    await context.print(json || raw ? jsonOf(record, raw) : textOf(record, context))
    return EXIT.ok
  },
}

async function find(store: Store, position: LogPosition, signal: AbortSignal): Promise<FoundRecord> {
  const { partition, offset } = position
  const { readModel } = store
  const ends = await readLogEnds(store)
  const none = `There is no record at ${formatPosition(position)}`
  if (offset >= (ends[partition] as Offset)) throw new Error(`${none}: the log ends before offset ${ends[partition]}.`)
  const reason = await readModel.generations.parkedAt(partition, offset)
  let found: RuledEvent | undefined
  await readRuledEvents(store, {
    ranges: new Map([[partition, { from: offset, end: after(offset) }]]),
    signal,
    async onEvents([event]) {
      found = event ?? found
    },
  })
  if (found === undefined) {
    throw new Error(`${none}: the offset belongs to a control record or an aborted transaction.`)
  }
  return { ...found, reason }
}

function jsonOf({ reason, ...ruled }: FoundRecord, raw: boolean): string {
  const readModel = reason === undefined ? null : parkedJson(reason)
  return `${JSON.stringify({ ...eventJson(ruled, raw), readModel })}\n`
}

function textOf({ reason, ...ruled }: FoundRecord, { colours }: CliContext): string {
  const { event, ruling } = ruled
  const { key, value, headers } = event.stored
  const quoted = (bytes: Buffer | string | null | undefined, max: number) =>
    bytes === null || bytes === undefined ? 'none' : `"${safeText(String(bytes), max)}"`
  const lines = Object.entries(headers).map(([name, header]) => {
    const values = [header].flat().map((one) => quoted(one, VALUE_CHARACTERS))
    return `  ${safeText(name, NAME_CHARACTERS)}: ${values.join(', ')}`
  })
  const mark = event.parked !== undefined && ruling?.is === 'created' ? 'claimed' : undefined
  return `${eventHead(ruled, createPaint(colours), 0, mark).join('  ')}

key      ${quoted(key, NAME_CHARACTERS)}
headers
${lines.join('\n')}
value    ${quoted(value, VALUE_CHARACTERS)} (${value?.length ?? 0} bytes)

In the read model  ${reason === undefined ? 'not parked' : `parked: ${reasonText(reason)}`}
This release       ${assess(event, reason)}
`
}

/** The prospect of an unreadable claim, and the remedy, by its reason. */
const OUTLOOKS: { [reason: number]: string } = {
  [PARKED.unknownVersion]: '\nTo read it, upgrade to a release that knows it, then run plantctl parked reapply',
  [PARKED.unreadablePayload]:
    '\nMost likely no later release will: the id stays used. Correct its producer, and create the plant under another id',
}

function assess({ claim, parked }: LogEvent, reason: number | undefined): string {
  if (parked !== undefined) return `cannot read it: ${reasonText(parked)}${OUTLOOKS[parked] ?? ''}`
  if (reason === undefined) return `reads it: plant ${claim?.id}`
  if (!claimsItsId(reason)) return `reads it as a claim of plant ${claim?.id}: run plantctl rebuild to apply it`
  return `reads it: plant ${claim?.id}. Run plantctl parked reapply to apply it`
}
