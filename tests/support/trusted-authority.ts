import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { inject } from 'vitest'
import { createAuthority } from '../../local/stores/certificates.ts'

/** An authority that this process trusts from now on. Issues certificates of this machine, as files of the test run. */
export function createTrustedAuthority() {
  const authority = createAuthority(mkdtempSync(join(inject('testRun'), 'authority-')))
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(authority.ca, 'utf8')])
  return { issue: (name: string) => authority.issue(name, name, ['127.0.0.1']) }
}
