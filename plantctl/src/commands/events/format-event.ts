import { claimsItsId, reasonName, reasonText } from '@plant-store/shared/plant/plant-created.ts'
import { formatPosition } from '@plant-store/shared/plant/position.ts'
import type { Paint } from '../../terminal/paint.ts'
import { recordedTime } from '../../terminal/recorded-time.ts'
import { safeJson, safeText } from '../../terminal/safe-text.ts'
import type { LogEvent } from './log-event.ts'
import type { Ruled } from './rulings.ts'

const KEY_CHARACTERS = 40
const VALUE_CHARACTERS = 80
const HEADER_CHARACTERS = 60
const NAME_CHARACTERS = 60
const JSON_CHARACTERS = 1_000
const MARK_WIDTH = 'repeated'.length

type Header = LogEvent['stored']['headers'][string]

/** What a record is: what its claim came to, or foreign for one that claims nothing. */
const markOf = (ruled: Ruled | undefined) => ruled?.is ?? 'foreign'

const COLOURS = {
  created: 'green',
  void: 'yellow',
  repeated: 'dim',
  foreign: 'red',
  unknown: 'cyan',
} as const

/** A record in one line for a person; nothing in it can do harm to a terminal. */
export function eventLine(
  event: LogEvent,
  ruled: Ruled | undefined,
  paint: Paint,
  positionWidth: number,
): string {
  return [...eventHead(event, ruled, paint, positionWidth), ...contentOf(event)].join('  ')
}

/** When and where it was written, and what it came to. */
export function eventHead(
  event: LogEvent,
  ruled: Ruled | undefined,
  paint: Paint,
  positionWidth: number,
): string[] {
  const { claim, partition } = event
  const mark = markOf(ruled)
  const head = [
    recordedTime(event.stored.timestampMs),
    formatPosition(event).padStart(positionWidth),
    paint(COLOURS[mark], mark.padEnd(MARK_WIDTH)),
  ]
  if (claim !== undefined) head.push(String(claim.id))
  if (ruled?.is === 'void')
    head.push(`the id was given at ${formatPosition({ partition, offset: ruled.first })}`)
  if (ruled?.is === 'repeated')
    head.push(`the same event is at ${formatPosition({ partition, offset: ruled.first })}`)
  if (ruled?.is === 'unknown') head.push(UNKNOWN)
  return head
}

const UNKNOWN = 'who was first is not known: the read model does not fit the log (plantctl verify)'

function contentOf({ claim, parked, stored }: LogEvent): string[] {
  const details: string[] = []
  if (claim?.plant !== undefined) {
    details.push(quoted(claim.plant.name, NAME_CHARACTERS))
    if (claim.plant.tag !== undefined) details.push(`tag ${quoted(claim.plant.tag, NAME_CHARACTERS)}`)
  }
  if (claim !== undefined) details.push(`event ${claim.eventId}`)
  if (parked !== undefined) {
    details.push(`parked: ${reasonText(parked)}`)
    const type = stored.headers[claimsItsId(parked) ? 'content-type' : 'ce_type']
    if (claim === undefined) details.push(`key ${bytesText(stored.key, KEY_CHARACTERS)}`)
    details.push(`${claimsItsId(parked) ? 'content-type' : 'ce_type'} ${headerText(type, HEADER_CHARACTERS)}`)
    details.push(`value ${bytesText(stored.value, VALUE_CHARACTERS)}`)
  }
  return details
}

/** A record as one line of JSON; `raw`: with its key, headers and value whole, in base64. */
export function eventJson(event: LogEvent, ruled: Ruled | undefined, raw: boolean): string {
  const { partition, offset, claim, parked, stored } = event
  const first = ruled?.is === 'void' || ruled?.is === 'repeated' ? ruled.first : undefined
  return safeJson({
    position: formatPosition(event),
    ...{ partition, offset, time: recordedTime(event.stored.timestampMs), is: markOf(ruled) },
    ...(first !== undefined && { of: formatPosition({ partition, offset: first }) }),
    ...(claim !== undefined && { id: String(claim.id), event: claim.eventId, plant: claim.plant ?? null }),
    ...(parked !== undefined && { parked: parkedJson(parked), ...storedTexts(stored) }),
    ...(raw && { raw: storedBytes(stored) }),
  })
}

export function parkedJson(reason: number): object {
  return { reason, name: reasonName(reason), why: reasonText(reason) }
}

/** Key, headers and value as texts; long ones are cut, and what is no UTF-8 has U+FFFD instead. */
export function storedTexts({ key, value, headers }: LogEvent['stored']): object {
  const cut = (text: string) => (text.length > JSON_CHARACTERS ? `${text.slice(0, JSON_CHARACTERS)}…` : text)
  const text = (bytes: Header) => (bytes === null || bytes === undefined ? null : cut(String(bytes)))
  return { key: text(key), headers: mapped(headers, text), value: text(value) }
}

function storedBytes({ key, value, headers }: LogEvent['stored']): object {
  const base64 = (bytes: Header) =>
    bytes === null || bytes === undefined ? null : Buffer.from(bytes as string).toString('base64')
  return { key: base64(key), headers: mapped(headers, base64), value: base64(value) }
}

/** Kafka allows several headers of one name. */
function mapped(headers: LogEvent['stored']['headers'], of: (header: Header) => string | null): object {
  return Object.fromEntries(
    Object.entries(headers).map(([name, header]) => [
      name,
      Array.isArray(header) ? header.map(of) : of(header),
    ]),
  )
}

const quoted = (text: string, max: number) => `"${safeText(text, max)}"`

function bytesText(bytes: Buffer | null, max: number): string {
  if (bytes === null) return 'none'
  // Only as much as can be shown is decoded; a character has at most 4 bytes.
  const part = bytes.subarray(0, (max + 1) * 4).toString()
  const shown = quoted(part, max).replace(/… \(\d+ characters\)/, '…')
  return bytes.length > part.length || shown.endsWith('…"') ? `${shown} (${bytes.length} bytes)` : shown
}

function headerText(header: Header, max: number): string {
  if (header === undefined || header === null) return 'none'
  if (Array.isArray(header)) return `${header.length} times`
  return bytesText(Buffer.from(header as string), max)
}
