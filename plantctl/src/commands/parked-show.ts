import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { claimsItsId, reasonText } from '@plant-store/shared/plant/plant-created.ts'
import {
  after,
  formatPosition,
  type LogPosition,
  type Offset,
  parsePosition,
} from '@plant-store/shared/plant/position.ts'
import { type CliContext, type Command, EXIT, UsageError } from '../command.ts'
import { readOptions } from '../options.ts'
import { openStore, type Store } from '../store/open-store.ts'
import { createPaint } from '../terminal/paint.ts'
import { safeJson, safeText } from '../terminal/safe-text.ts'
import { eventHead, eventJson, parkedJson } from './events/format-event.ts'
import type { LogEvent } from './events/log-event.ts'
import { readEvents } from './events/read-events.ts'
import { type Ruled, rulingsByReadModel } from './events/rulings.ts'

const VALUE_CHARACTERS = 2_000
const NAME_CHARACTERS = 100
const help = `Shows one record of the log: all that it holds, why it is parked, and what this release makes of it.

  plantctl parked show 3-120
  plantctl parked show 3-120 --raw | jq -r .raw.value | base64 -d

  --json  one JSON object
  --raw   as --json, with key, headers and value whole, in base64

The position is that of "plantctl parked list", <partition>-<offset>.

Exit codes: 0 shown, 1 there is no such record, or Kafka or Redis does not answer.
`

type Shown = { event: LogEvent; ruled: Ruled | undefined; reason: number | undefined }

/** plantctl parked show */
export const parkedShow: Command = {
  summary: 'shows one record, and what this release makes of it',
  help,
  async run(args, context) {
    const { values, positionals } = readOptions(
      args,
      { json: { type: 'boolean' }, raw: { type: 'boolean' } },
      true,
    )
    const [text, ...others] = positionals
    if (text === undefined || others.length > 0) throw new UsageError('expected one position, such as 3-120')
    const store = await openStore(context)
    try {
      const position = parsePosition(text, store.partitions)
      if (position === undefined) {
        throw new UsageError(
          `${text}: expected a position such as 3-120: a partition, at most ${store.partitions - 1}, and an offset`,
        )
      }
      const shown = await find(store, position, context.signal)
      const asJson = values.json === true || values.raw === true
      await context.out(asJson ? json(shown, values.raw === true) : inWords(shown, context))
      return EXIT.done
    } finally {
      await store.close()
    }
  },
}

async function find(store: Store, { partition, offset }: LogPosition, signal: AbortSignal): Promise<Shown> {
  const { readModel, kafka } = store
  const { ends } = await checkTopic(kafka, store)
  if (offset >= (ends[partition] as Offset)) {
    throw new Error(
      `There is no record at ${formatPosition({ partition, offset })}: the log ends before offset ${ends[partition]}.`,
    )
  }
  const { checkpoint } = await readModel.meta(partition)
  const reason = await readModel.generations.parkedAt(partition, offset)
  const { startFor, note, rule } = rulingsByReadModel(readModel, partition, checkpoint.offset)
  let event: LogEvent | undefined
  await readEvents(store, {
    ranges: new Map([[partition, { from: startFor(offset), end: after(offset) }]]),
    signal,
    async onEvents(_partition, events) {
      for (const { claim } of events) if (claim !== undefined) note(claim)
      event = events.find((one) => one.offset === offset) ?? event
    },
  })
  if (event === undefined) {
    throw new Error(
      `There is no record at ${formatPosition({ partition, offset })}: Kafka gave this offset to a control record, or to a transaction that was aborted.`,
    )
  }
  const [ruled] = event.claim === undefined ? [] : await rule([event.claim])
  return { event, ruled, reason }
}

function json({ event, ruled, reason }: Shown, raw: boolean): string {
  const told = JSON.parse(eventJson(event, ruled, raw))
  return `${safeJson({ ...told, readModel: reason === undefined ? null : parkedJson(reason) })}\n`
}

function inWords({ event, ruled, reason }: Shown, { colours }: CliContext): string {
  const { key, value, headers } = event.stored
  const text = (bytes: Buffer | string | null | undefined, max: number) =>
    bytes === null || bytes === undefined ? 'none' : `"${safeText(String(bytes), max)}"`
  const lines = Object.entries(headers).map(
    ([name, header]) =>
      `  ${safeText(name, NAME_CHARACTERS)}: ${[header]
        .flat()
        .map((one) => text(one, VALUE_CHARACTERS))
        .join(', ')}`,
  )
  return `${eventHead(event, ruled, createPaint(colours), 0).join('  ')}

key      ${text(key, NAME_CHARACTERS)}
headers
${lines.join('\n')}
value    ${text(value, VALUE_CHARACTERS)} (${value?.length ?? 0} bytes)

In the read model  ${reason === undefined ? 'not parked' : `parked: ${reasonText(reason)}`}
This release       ${judgement(event, reason)}
`
}

function judgement({ claim, parked }: LogEvent, reason: number | undefined): string {
  if (parked !== undefined) return `can not read it either: ${reasonText(parked)}`
  if (reason === undefined) return `reads it: plant ${claim?.id}`
  if (!claimsItsId(reason))
    return 'takes it for a claim of its id: only plantctl rebuild can put it into place'
  return `reads it: plant ${claim?.id}. plantctl parked reapply puts it into place`
}
