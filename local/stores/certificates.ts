import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { Failure } from '../processes/failure.mjs'

/** The files of one certificate, in PEM. */
export type Certified = { cert: string; key: string }
/** A certificate and its authority. */
export type Trusted = Certified & { ca: string }

const DAYS = ['-days', '30']
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', ...DAYS]

/**
 * A certificate authority for development and tests, and the certificates that it issues, as files in `dir`, which is
 * made when missing. `name` names the authority and its files. Needs openssl.
 */
export function createAuthority(dir: string, name = 'authority') {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  function openssl(...args: string[]): void {
    const { error, status, stderr } = spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' })
    if (error) throw new Failure(`Certificates cannot be made (${error.message}): install openssl.`)
    if (status !== 0) throw new Failure(`openssl ${args[0]} failed:\n${stderr}`)
  }
  const ca = join(dir, `${name}.crt`)
  openssl('req', '-x509', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', ca)

  return {
    ca,

    /** Issues a certificate for this common name, and for host names and addresses. `file` has no extension. */
    issue(file: string, commonName: string, hosts: readonly string[] = []): Certified {
      const [cert, key, request] = [join(dir, `${file}.crt`), join(dir, `${file}.key`), join(dir, `${file}.csr`)]
      openssl('req', '-new', ...NEW_KEY, '-subj', `/CN=${commonName}`, '-keyout', key, '-out', request)
      const names = hosts.map((host) => `${isIP(host) === 0 ? 'DNS' : 'IP'}:${host}`).join(',')
      const extensions = join(dir, `${file}.ext`)
      writeFileSync(extensions, names === '' ? '' : `subjectAltName=${names}\n`)
      const signer = ['-CA', ca, '-CAkey', `${name}.key`, '-CAcreateserial', ...DAYS]
      openssl('x509', '-req', '-in', request, ...signer, '-extfile', extensions, '-out', cert)
      return { cert, key }
    },
  }
}
