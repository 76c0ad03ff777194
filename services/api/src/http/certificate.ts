import { X509Certificate } from 'node:crypto'
import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { openReloaded } from '@plant-store/shared/runtime/reloaded.ts'
import { readTlsFiles, withFiles } from '@plant-store/shared/runtime/setting-files.ts'
import type { ApiSettings } from '../settings.ts'

export type Certificate = NonNullable<Awaited<ReturnType<typeof openCertificate>>>

/**
 * Opens the certificate that the settings name; undefined when they name none. The files are read again, so that it
 * changes without a restart. Throws a PreconditionError when the first read fails.
 */
export async function openCertificate(
  { HTTP_TLS_CERT_FILE, HTTP_TLS_KEY_FILE }: Partial<ApiSettings>,
  log: Log,
  everyMs?: number,
) {
  const settings = { HTTP_TLS_CERT_FILE, HTTP_TLS_KEY_FILE }
  if (HTTP_TLS_CERT_FILE === undefined && HTTP_TLS_KEY_FILE === undefined) return undefined

  let server: TlsServer | undefined
  const { current, problems, close } = await openReloaded({
    what: 'certificate',
    read: () => withFiles(settings, 'HTTP_TLS', (read) => readTlsFiles(settings, 'HTTP_TLS', read)),
    use(files) {
      server?.setSecureContext(files)
      log.info({ expiresAt: expiry() }, 'new connections have a new certificate')
    },
    log,
    everyMs,
  })
  const expiry = () => new X509Certificate(current().cert ?? '').validToDate
  return {
    current,
    problems,
    /** When it expires, in seconds since 1970. */
    expiresAt: (): number => expiry().getTime() / 1_000,
    /** Gives this server the current certificate, and each later one. Its open connections stay. */
    renewOn(renewed: Server): void {
      if (!(renewed instanceof TlsServer)) return
      server = renewed
      server.setSecureContext(current())
    },
    close,
  }
}
