import { hash } from 'node:crypto'
import { PreconditionError } from '../runtime/failures.ts'
import { formatInstant, INSTANT_EXAMPLE, parseInstant } from './instant.ts'
import { isScope, SCOPES, type Scope, scopesAmong } from './scope.ts'

/** What is known of a token: enough to recognise it, not to use it. */
export type TokenEntry = {
  /** Who has the token. Old and new token of a rotation share it. */
  label: string
  /** SHA-256 of the token. */
  digest: Buffer
  scopes: readonly Scope[]
  /** Milliseconds since 1970 from which on it is not accepted; without it, it always is. */
  expiresAtMs?: number
}

/** Every request is compared with every entry. */
const MAX_ENTRIES = 1_000
const LABEL = /^[a-z0-9][a-z0-9._-]{0,63}$/
const LABEL_AND_DIGEST = /^([^:]*):([0-9a-f]{64})$/
const SEPARATOR = /\s*[,\n]\s*/
const EXPIRES = 'expires='

export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/**
 * Reads entries `label:digest [scope …] [expires=instant]`, separated by commas or line ends; without a scope an entry
 * has all of them. Throws a PreconditionError that tells their origin, the number of the entry and its fault,
 * but nothing of what it holds: a token may have been put where its digest belongs.
 */
export function parseTokenEntries(text: string, origin: string): TokenEntry[] {
  const parts = text.trim().split(SEPARATOR)
  const entries: TokenEntry[] = []
  const digests = new Set<string>()
  for (const [index, part] of parts.entries()) {
    const entry = index < MAX_ENTRIES ? parseEntry(part) : `is one more than the ${MAX_ENTRIES} that may be`
    const fault = typeof entry === 'string' ? entry : isNew(entry) ? undefined : 'has the digest of another'
    if (typeof entry === 'string' || fault !== undefined) throw refusal(origin, index + 1, String(fault))
    entries.push(entry)
  }
  return entries

  function isNew({ digest }: TokenEntry): boolean {
    const known = digests.size
    return digests.add(digest.toString('hex')).size > known
  }
}

/** The entry as `parseTokenEntries` reads it. */
export function formatTokenEntry({ label, digest, scopes, expiresAtMs }: TokenEntry): string {
  const expires = expiresAtMs === undefined ? [] : [`${EXPIRES}${formatInstant(expiresAtMs)}`]
  return [`${label}:${digest.toString('hex')}`, ...scopes, ...expires].join(' ')
}

/** The entry, or what is wrong with it. */
function parseEntry(text: string): TokenEntry | string {
  const [identity = '', ...attributes] = text.split(/ +/)
  const [, label, digest] = LABEL_AND_DIGEST.exec(identity) ?? []
  if (label === undefined || digest === undefined || !isLabel(label)) return 'is no label:digest'
  const scopes = attributes.filter(isScope)
  const instants = attributes.filter((attribute) => attribute.startsWith(EXPIRES))
  if (scopes.length + instants.length < attributes.length) return 'has an attribute that there is not'
  if (new Set(scopes).size < scopes.length || instants.length > 1) return 'has an attribute twice'
  const entry = {
    ...{ label, digest: Buffer.from(digest, 'hex') },
    scopes: scopesAmong(scopes.length === 0 ? SCOPES : scopes),
  }
  if (instants[0] === undefined) return entry
  const expiresAtMs = parseInstant(instants[0].slice(EXPIRES.length))
  return expiresAtMs === undefined ? 'expires at no instant that there is' : { ...entry, expiresAtMs }
}

function refusal(origin: string, number: number, fault: string): PreconditionError {
  return new PreconditionError(
    `settings: ${origin} must hold label:digest entries separated by commas or line ends, where the label ` +
      'has lower-case letters, digits, ".", "_" or "-", the digest is the SHA-256 of the token in lower-case hex, and ' +
      `there may follow, after spaces, ${SCOPES.join(', ')} and ${EXPIRES}${INSTANT_EXAMPLE}; ` +
      `entry ${number} ${fault}`,
  )
}
