import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../processes/whole-file.ts'

/** The syntax of a bearer token (RFC 6750), and its description. */
export const TOKEN_PATTERN = /^[\w.~+/-]+=*$/
export const TOKEN_RULE = 'only A-Z a-z 0-9 - . _ ~ + / and = at the end (RFC 6750)'

/** The token for the api on this machine. It is stored, so that a `curl` copied yesterday still works. */
export const storedToken = (localDir: string) => storedSecret(join(localDir, 'token'))

/** A secret that is created once and stored, where only the user can read it. */
export function storedSecret(file: string): string {
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (kept !== '') return kept
  const secret = randomBytes(32).toString('base64url')
  writeWhole(file, `${secret}\n`, { mode: 0o600 })
  return secret
}

/** The entry by which the api recognises a token without knowing it: the value of PLANT_STORE_TOKEN_DIGESTS. */
export const digestOf = (token: string) => `local:${createHash('sha256').update(token).digest('hex')}`
