import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of one certificate, in PEM. */
export type Certified = { cert: string; key: string }

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']

/** An authority of this test run, and the certificates that it issues, as files in `dir`. */
export function createAuthority(dir: string, name = 'authority') {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' })
  const ca = join(dir, `${name}.crt`)
  openssl('req', '-x509', ...NEW_KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', ca)

  return {
    ca,

    /** Issues a certificate for this common name, and for host names. */
    issue(file: string, commonName: string, hosts: readonly string[] = []): Certified {
      const [cert, key, request] = [join(dir, `${file}.crt`), join(dir, `${file}.key`), join(dir, `${file}.csr`)]
      openssl('req', '-new', ...NEW_KEY, '-subj', `/CN=${commonName}`, '-keyout', key, '-out', request)
      const names = hosts.map((host) => `DNS:${host}`).join(',')
      const extensions = join(dir, `${file}.ext`)
      writeFileSync(extensions, names === '' ? '' : `subjectAltName=${names}\n`)
      const signer = ['-CA', ca, '-CAkey', `${name}.key`, '-CAcreateserial', '-days', '2']
      openssl('x509', '-req', '-in', request, ...signer, '-extfile', extensions, '-out', cert)
      return { cert, key }
    },
  }
}
