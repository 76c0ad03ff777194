import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { claimsItsId, reasonName, reasonText } from '@plant-store/shared/plant/plant-created.ts'
import { formatPosition } from '@plant-store/shared/plant/position.ts'
import { formatTimestamp } from '@plant-store/shared/runtime/format.ts'
import type { Paint } from '../../terminal/layout.ts'
import { safeText } from '../../terminal/safe-text.ts'
import type { LogEvent, RuledEvent } from './read-events.ts'
import type { ClaimRuling } from './rulings.ts'

const KEY_CHARACTERS = 40
const VALUE_CHARACTERS = 80
const HEADER_CHARACTERS = 60
const TEXT_CHARACTERS = 60
const JSON_CHARACTERS = 1_000
const MARK_WIDTH = 'repeated'.length

type Header = LogEvent['stored']['headers'][string]

/** The ruling on a record's claim, or foreign for a record without one. */
const markOf = (ruling: ClaimRuling | undefined) => ruling?.is ?? 'foreign'

const COLOURS = {
  created: 'green',
  claimed: 'red',
  void: 'yellow',
  repeated: 'dim',
  foreign: 'red',
  unknown: 'cyan',
} as const

/** A record as one line of text that is safe for a terminal. */
export function eventLine(ruled: RuledEvent, paint: Paint, positionWidth: number): string {
  return [...eventHead(ruled, paint, positionWidth), ...contentOf(ruled.event)].join('  ')
}

/** Time, position, ruling and id of a record. */
export function eventHead(
  { event, ruling }: RuledEvent,
  paint: Paint,
  positionWidth: number,
  mark: keyof typeof COLOURS = markOf(ruling),
): string[] {
  const { claim, partition } = event
  const head = [
    formatTimestamp(event.stored.timestampMs),
    formatPosition(event).padStart(positionWidth),
    paint(COLOURS[mark], mark.padEnd(MARK_WIDTH)),
  ]
  if (claim !== undefined) head.push(String(claim.id))
  if (ruling?.is === 'void') head.push(`the id was created at ${formatPosition({ partition, offset: ruling.first })}`)
  if (ruling?.is === 'repeated')
    head.push(`the same event is at ${formatPosition({ partition, offset: ruling.first })}`)
  if (ruling?.is === 'unknown') head.push(UNKNOWN)
  return head
}

const UNKNOWN = 'the read model does not match the log: run plantctl verify'

function contentOf({ claim, parked, stored }: LogEvent): string[] {
  const details: string[] = []
  if (claim?.plant !== undefined) {
    for (const [index, [field, text]] of Object.entries(textsOf(claim.plant)).entries())
      details.push(`${index === 0 ? '' : `${field} `}${quoted(text, TEXT_CHARACTERS)}`)
  }
  if (claim !== undefined) details.push(`event ${claim.eventId}`)
  if (parked !== undefined) {
    details.push(`parked: ${reasonText(parked)}`)
    const type = claimsItsId(parked) ? 'content-type' : 'ce_type'
    if (claim === undefined) details.push(`key ${bytesText(stored.key, KEY_CHARACTERS)}`)
    details.push(`${type} ${headerText(stored.headers[type], HEADER_CHARACTERS)}`)
    details.push(`value ${bytesText(stored.value, VALUE_CHARACTERS)}`)
  }
  return details
}

/** A record for JSON; with `raw` including the complete key, headers and value in base64. */
export function eventJson({ event, ruling }: RuledEvent, raw: boolean): object {
  const { partition, offset, claim, parked, stored } = event
  const first = ruling?.is === 'void' || ruling?.is === 'repeated' ? ruling.first : undefined
  return {
    position: formatPosition(event),
    partition,
    offset,
    time: formatTimestamp(stored.timestampMs),
    is: markOf(ruling),
    ...(first !== undefined && { of: formatPosition({ partition, offset: first }) }),
    ...(claim !== undefined && {
      id: String(claim.id),
      event: claim.eventId,
      plant: claim.plant ? textsOf(claim.plant) : null,
    }),
    ...(parked !== undefined && { parked: parkedJson(parked), ...storedAs(stored, cutText) }),
    ...(raw && { raw: storedAs(stored, (bytes) => bytes.toString('base64')) }),
  }
}

export function parkedJson(reason: number): object {
  return { reason, name: reasonName(reason), why: reasonText(reason) }
}

/** Key, headers and value, each header as a list if Kafka has several with its name. */
function storedAs({ key, value, headers }: LogEvent['stored'], of: (bytes: Buffer) => string): object {
  const ofOne = (bytes: Header) => (bytes === null || bytes === undefined ? null : of(Buffer.from(bytes as Buffer)))
  const ofHeader = (header: Header) => (Array.isArray(header) ? header.map(ofOne) : ofOne(header))
  const texts = Object.entries(headers).map(([name, header]) => [name, ofHeader(header)])
  return { key: ofOne(key), headers: Object.fromEntries(texts), value: ofOne(value) }
}

/** Bytes that are not UTF-8 become U+FFFD. */
function cutText(bytes: Buffer): string {
  const text = String(bytes)
  return text.length > JSON_CHARACTERS ? `${text.slice(0, JSON_CHARACTERS)}…` : text
}

const quoted = (text: string, max: number) => `"${safeText(text, max)}"`

function bytesText(bytes: Buffer | null, max: number): string {
  if (bytes === null) return 'none'
  // Decodes no more than is shown; a character has at most 4 bytes.
  const part = bytes.subarray(0, (max + 1) * 4).toString()
  const shown = quoted(part, max).replace(/… \(\d+ characters\)/, '…')
  return bytes.length > part.length || shown.endsWith('…"') ? `${shown} (${bytes.length} bytes)` : shown
}

function headerText(header: Header, max: number): string {
  if (header === undefined || header === null) return 'none'
  if (Array.isArray(header)) return `${header.length} times`
  return bytesText(Buffer.from(header as string), max)
}
