import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from '../processes/whole-file.mjs'

/** The syntax of a bearer token (RFC 6750), and its description. */
export const tokenPattern = /^[\w.~+/-]+=*$/
export const tokenRule = 'only A-Z a-z 0-9 - . _ ~ + / and = at the end (RFC 6750)'

/**
 * The token for the api on this machine. It is created once and stored, so that a `curl` copied yesterday still
 * works.
 *
 * @param {string} localDir
 * @returns {string}
 */
export const storedToken = (localDir) => storedSecret(join(localDir, 'token'))

/**
 * A secret that is created once and stored, where only the user can read it.
 *
 * @param {string} file
 * @returns {string}
 */
export function storedSecret(file) {
  const kept = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (kept !== '') return kept
  const secret = randomBytes(32).toString('base64url')
  writeWhole(file, `${secret}\n`, { mode: 0o600 })
  return secret
}

/**
 * The entry by which the api recognises a token without knowing it.
 *
 * @param {string} token
 * @returns {string} the value of PLANT_STORE_TOKEN_DIGESTS
 */
export function digestOf(token) {
  return `local:${createHash('sha256').update(token).digest('hex')}`
}
