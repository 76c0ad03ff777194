import { hash } from 'node:crypto'
import { PreconditionError } from '../runtime/failures.ts'
import { isScope, SCOPES, type Scope, scopesAmong } from './scope.ts'

/** The stored form of a token: enough to recognise it, not to use it. */
export type TokenEntry = {
  /** The owner of the token. The old and the new token of a rotation share it. */
  label: string
  /** SHA-256 of the token. */
  digest: Buffer
  scopes: readonly Scope[]
  /** Milliseconds since 1970 at which the token expires; without it, the token does not expire. */
  expiresAtMs?: number
}

/** A limit, because each request is compared with every entry. */
const MAX_ENTRIES = 1_000
const LABEL = /^[a-z0-9][a-z0-9._-]{0,63}$/
const LABEL_AND_DIGEST = /^([^:]*):([0-9a-f]{64})$/
const SEPARATOR = /\s*[,\n]\s*/
const EXPIRES = 'expires='
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

export const INSTANT_EXAMPLE = '2027-01-31T00:00:00Z'

export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

export function digestOf(token: string): Buffer {
  // Each request needs it, and a buffer that `hash` allocates takes three times as long as text and Buffer's pool.
  return Buffer.from(hash('sha256', token, 'latin1'), 'latin1')
}

/**
 * Parses entries `label:digest [scope …] [expires=instant]`, separated by commas or line ends. An entry without a scope
 * has all scopes. Throws a PreconditionError with the origin, the number of the entry and its fault, but without its
 * text: a token may be in the place of its digest.
 */
export function parseTokenEntries(text: string, origin: string): TokenEntry[] {
  const parts = text.trim().split(SEPARATOR)
  const entries: TokenEntry[] = []
  const digests = new Set<string>()
  for (const [index, part] of parts.entries()) {
    const entry = index < MAX_ENTRIES ? parseEntry(part) : `exceeds the limit of ${MAX_ENTRIES} entries`
    if (typeof entry === 'string') throw invalidEntry(origin, index + 1, entry)
    const digest = entry.digest.toString('hex')
    if (digests.has(digest)) throw invalidEntry(origin, index + 1, 'has the digest of another entry')
    digests.add(digest)
    entries.push(entry)
  }
  return entries
}

/**
 * Parses the entries of a file. Throws as `parseTokenEntries` does, and for a last line without a line break: the file
 * may be cut off, and the beginning of an entry may grant more than all of it.
 */
export function parseTokenFile(text: string, origin: string): TokenEntry[] {
  if (!text.endsWith('\n')) {
    throw new PreconditionError(`settings: ${origin} does not end with a line break: if it is complete, add one`)
  }
  return parseTokenEntries(text, origin)
}

/** The text of an entry that `parseTokenEntries` accepts. */
export function formatTokenEntry({ label, digest, scopes, expiresAtMs }: TokenEntry): string {
  const expires = expiresAtMs === undefined ? [] : [`${EXPIRES}${formatInstant(expiresAtMs)}`]
  return [`${label}:${digest.toString('hex')}`, ...scopes, ...expires].join(' ')
}

/** The entry, or its fault as text. */
function parseEntry(text: string): TokenEntry | string {
  const [identity = '', ...attributes] = text.split(/ +/)
  const [, label, digest] = LABEL_AND_DIGEST.exec(identity) ?? []
  if (label === undefined || digest === undefined || !isLabel(label)) return 'is not label:digest'
  const scopes = attributes.filter(isScope)
  const instants = attributes.filter((attribute) => attribute.startsWith(EXPIRES))
  if (scopes.length + instants.length < attributes.length) return 'has an unknown attribute'
  if (new Set(scopes).size < scopes.length || instants.length > 1) return 'has an attribute twice'
  const entry = {
    label,
    digest: Buffer.from(digest, 'hex'),
    scopes: scopesAmong(scopes.length === 0 ? SCOPES : scopes),
  }
  if (instants[0] === undefined) return entry
  const expiresAtMs = parseInstant(instants[0].slice(EXPIRES.length))
  return expiresAtMs === undefined ? 'has an invalid expiry' : { ...entry, expiresAtMs }
}

function invalidEntry(origin: string, number: number, fault: string): PreconditionError {
  return new PreconditionError(
    `settings: entry ${number} of ${origin} ${fault}. Entries are label:digest, separated by commas or line ends. A ` +
      'label has lower-case letters, digits, ".", "_" and "-"; a digest is the SHA-256 of the token in lower-case hex. ' +
      `Optional attributes follow after spaces: ${SCOPES.join(', ')} and ${EXPIRES}${INSTANT_EXAMPLE}`,
  )
}

/** Parses an RFC 3339 instant in UTC with whole seconds. Returns milliseconds since 1970, or undefined. */
export function parseInstant(text: string): number | undefined {
  if (!INSTANT.test(text)) return undefined
  const ms = Date.parse(text)
  // Date.parse reads 31 February as a day in March, and hour 24 as the next day.
  return !Number.isNaN(ms) && formatInstant(ms) === text ? ms : undefined
}

/** Formats an instant, rounded down to whole seconds. */
export function formatInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
