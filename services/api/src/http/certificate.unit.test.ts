import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { expect, it } from 'vitest'
import { createAuthority } from '../../../../local/stores/certificates.ts'
import { quietLog } from '../../../../tests/support/quiet-log.ts'
import { temporaryFolder } from '../../../../tests/support/temporary-folder.ts'
import { openCertificate } from './certificate.ts'

// The system test `edge` renews certificates.
it('a key alone, a certificate that is not there, or one of another key is a wrong setting', async () => {
  const authority = createAuthority(temporaryFolder())
  const { key } = authority.issue('first', 'first')
  for (const [cert, message] of [
    [undefined, /set both or neither/],
    ['/nowhere', /HTTP_TLS_CERT_FILE names \/nowhere.*ENOENT/],
    [authority.issue('second', 'second').cert, /HTTP_TLS_KEY_FILE must name the key .*HTTP_TLS_CERT_FILE/],
  ] as const) {
    const settings = { HTTP_TLS_KEY_FILE: key, ...(cert !== undefined && { HTTP_TLS_CERT_FILE: cert }) }
    const opening = openCertificate(settings, quietLog)
    await expect(opening).rejects.toThrow(PreconditionError)
    await expect(opening).rejects.toThrow(message)
  }
})
