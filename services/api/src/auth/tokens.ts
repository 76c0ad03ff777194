import { createHash, timingSafeEqual } from 'node:crypto'
import { PreconditionError } from '@plant-store/shared/process/failures.ts'

/** Who sent a request: the label of the token, so that rotating the token keeps the caller. */
export type Caller = string

/** A token as the settings tell it: who has it, and the SHA-256 of it. */
export type KnownToken = { caller: Caller; digest: Buffer }

const ENTRY = /^([a-z0-9][a-z0-9._-]{0,63}):([0-9a-f]{64})$/

/**
 * Reads `label:sha256-hex` entries, separated by commas. Throws a PreconditionError. Several entries may
 * share a label: the old and the new token of one caller during a rotation.
 */
export function parseTokenDigests(setting: string): KnownToken[] {
  return setting.split(',').map((entry) => {
    const [, caller, digest] = ENTRY.exec(entry.trim()) ?? []
    if (caller === undefined || digest === undefined) {
      throw new PreconditionError(
        'settings: PLANT_STORE_TOKEN_DIGESTS must be label:digest entries separated by commas, where the label ' +
          'has lower-case letters, digits, ".", "_" or "-", and the digest is the SHA-256 of the token in lower-case hex',
      )
    }
    return { caller, digest: Buffer.from(digest, 'hex') }
  })
}

/** Tells who a token belongs to, in a time that depends on neither the token nor which entry matches. */
export function createTokenCheck(known: readonly KnownToken[]) {
  return (token: string): Caller | undefined => {
    const digest = createHash('sha256').update(token).digest()
    let found: Caller | undefined
    for (const { caller, digest: expected } of known) {
      if (timingSafeEqual(digest, expected)) found = caller
    }
    return found
  }
}
