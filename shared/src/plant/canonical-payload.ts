import { MAX_TEXT_CODE_POINTS, type Plant } from './plant.ts'

// What plantCreated writes as long as nothing in the texts has to be escaped or is beyond ASCII:
// {"id":"7","name":"Fern"} or {"id":"7","name":"Fern","tag":"shade"}. Almost all payloads are so, and a look at each byte
// takes a quarter of what UTF-8 check, JSON parser and schema take for the same.
const BEFORE_ID = Buffer.from('{"id":"')
const BEFORE_NAME = Buffer.from('","name":"')
const BEFORE_TAG = Buffer.from('","tag":"')
const END = Buffer.from('"}')

/** The bytes that stand for themselves in a JSON string, and that are a character each. */
const IS_PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte < 0x7f && !'"\\'.includes(String.fromCharCode(byte)) ? 1 : 0,
)

/**
 * The plant of a payload of just this form, for the id whose canonical text is `id`. Undefined for any other: that may
 * still be a payload, and is for the JSON parser to read.
 */
export function readCanonicalPayload(payload: Buffer, id: Buffer): Plant | undefined {
  const idAt = BEFORE_ID.length
  const nameAt = idAt + id.length + BEFORE_NAME.length
  if (!holds(payload, 0, BEFORE_ID) || !holds(payload, idAt, id)) return undefined
  if (!holds(payload, idAt + id.length, BEFORE_NAME)) return undefined
  const nameEnd = plainEnd(payload, nameAt)
  if (nameEnd - nameAt > MAX_TEXT_CODE_POINTS) return undefined
  const name = payload.toString('latin1', nameAt, nameEnd)
  if (isEnd(payload, nameEnd)) return { name }
  const tagAt = nameEnd + BEFORE_TAG.length
  if (!holds(payload, nameEnd, BEFORE_TAG)) return undefined
  const tagEnd = plainEnd(payload, tagAt)
  if (tagEnd - tagAt > MAX_TEXT_CODE_POINTS || !isEnd(payload, tagEnd)) return undefined
  return { name, tag: payload.toString('latin1', tagAt, tagEnd) }
}

function holds(payload: Buffer, at: number, wanted: Buffer): boolean {
  for (let index = 0; index < wanted.length; index++) {
    if (payload[at + index] !== wanted[index]) return false
  }
  return true
}

/** Where the first byte lies that is not plain. */
function plainEnd(payload: Buffer, from: number): number {
  let end = from
  while (IS_PLAIN[payload[end] as number] === 1) end++
  return end
}

function isEnd(payload: Buffer, at: number): boolean {
  return payload.length === at + END.length && holds(payload, at, END)
}
