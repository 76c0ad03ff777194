import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { Failure } from '../processes/failure.mjs'

/**
 * The files of one certificate, in PEM.
 * @typedef {{ cert: string, key: string }} Certified
 *
 * A certificate and its authority.
 * @typedef {Certified & { ca: string }} Trusted
 */

const validDays = '30'
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', validDays]

/**
 * A certificate authority for development and tests, and the certificates that it issues, as files in `dir`. Needs
 * openssl.
 *
 * @param {string} dir made when missing
 * @param {string} [name] of the authority and its files
 */
export function createAuthority(dir, name = 'authority') {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  /** @param {string[]} args */
  const openssl = (...args) => {
    const { error, status, stderr } = spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' })
    if (error) throw new Failure(`Certificates cannot be made (${error.message}): install openssl.`)
    if (status !== 0) throw new Failure(`openssl ${args[0]} failed:\n${stderr}`)
  }
  const ca = join(dir, `${name}.crt`)
  openssl('req', '-x509', ...newKey, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', ca)

  return {
    ca,

    /**
     * Issues a certificate for this common name, and for host names and addresses.
     *
     * @param {string} file the name of its files, without extension
     * @param {string} commonName
     * @param {readonly string[]} [hosts]
     * @returns {Certified}
     */
    issue(file, commonName, hosts = []) {
      const [cert, key, request] = [join(dir, `${file}.crt`), join(dir, `${file}.key`), join(dir, `${file}.csr`)]
      openssl('req', '-new', ...newKey, '-subj', `/CN=${commonName}`, '-keyout', key, '-out', request)
      const names = hosts.map((host) => `${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`).join(',')
      const extensions = join(dir, `${file}.ext`)
      writeFileSync(extensions, names === '' ? '' : `subjectAltName=${names}\n`)
      const signer = ['-CA', ca, '-CAkey', `${name}.key`, '-CAcreateserial', '-days', validDays]
      openssl('x509', '-req', '-in', request, ...signer, '-extfile', extensions, '-out', cert)
      return { cert, key }
    },
  }
}
