import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../processes/whole-file.mjs'

/** What a bearer token may look like (RFC 6750), and the same in words. */
export const tokenPattern = /^[\w.~+/-]+=*$/
export const tokenRule = 'only A-Z a-z 0-9 - . _ ~ + / and = at the end (RFC 6750)'

/**
 * The token for calling the api on this machine: made once and kept, so that a `curl` copied yesterday still
 * works.
 *
 * @param {string} localDir
 * @returns {string}
 */
export function keptToken(localDir) {
  const file = join(localDir, 'token')
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (kept !== '') return kept
  const token = randomBytes(32).toString('base64url')
  writeWhole(file, `${token}\n`, { mode: 0o600 })
  return token
}

/**
 * What the api is told of a token: enough to recognise it, not to use it.
 *
 * @param {string} token
 * @returns {string} the value of PLANT_STORE_TOKEN_DIGESTS
 */
export function digestOf(token) {
  return `local:${createHash('sha256').update(token).digest('hex')}`
}
