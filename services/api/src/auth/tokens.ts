import { createHash, timingSafeEqual } from 'node:crypto'
import { PreconditionError } from '@plant-store/shared/process/failures.ts'

/** Who sent a request: the label of the token, so that rotating the token keeps the caller. */
export type Caller = string

/** A token as the settings tell it: who has it, and the SHA-256 of it. */
export type KnownToken = { caller: Caller; digest: Buffer }

/** Tells who a token belongs to; undefined when it is not accepted. */
export type TokenCheck = (token: string) => Caller | undefined

const ENTRY = /^([a-z0-9][a-z0-9._-]{0,63}):([0-9a-f]{64})$/
const SEPARATOR = /\s*[,\n]\s*/

/**
 * Reads `label:sha256-hex` entries, separated by commas or line ends. Throws a PreconditionError that names
 * their origin. Several entries may share a label: the old and the new token of one caller during a rotation.
 */
export function parseTokenDigests(entries: string, origin: string): KnownToken[] {
  return entries
    .trim()
    .split(SEPARATOR)
    .map((entry) => {
      const [, caller, digest] = ENTRY.exec(entry) ?? []
      if (caller === undefined || digest === undefined) {
        throw new PreconditionError(
          `settings: ${origin} must hold label:digest entries separated by commas or line ends, where the label ` +
            'has lower-case letters, digits, ".", "_" or "-", and the digest is the SHA-256 of the token in lower-case hex',
        )
      }
      return { caller, digest: Buffer.from(digest, 'hex') }
    })
}

/** A check that takes a time that depends on neither the token nor which entry matches. */
export function createTokenCheck(known: readonly KnownToken[]): TokenCheck {
  return (token) => {
    const digest = createHash('sha256').update(token).digest()
    let found: Caller | undefined
    for (const { caller, digest: expected } of known) {
      if (timingSafeEqual(digest, expected)) found = caller
    }
    return found
  }
}
