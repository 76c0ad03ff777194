import { X509Certificate } from 'node:crypto'
import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { openReloaded } from '@plant-store/shared/runtime/reloaded.ts'
import { readTlsFiles, type TlsFiles, withFiles } from '@plant-store/shared/runtime/setting-files.ts'

export type CertificateSettings = { HTTP_TLS_CERT_FILE?: string; HTTP_TLS_KEY_FILE?: string }

/** The certificate and key of the HTTP API. */
export type Certificate = {
  /** The files as they were read last. */
  current(): TlsFiles
  /** When it expires, in seconds since 1970. */
  expiresAt(): number
  /** Gives this server the current certificate, and each later one. Its open connections stay. */
  renewOn(server: Server): void
  close(): Promise<void>
}

/**
 * Opens the certificate that the settings name; undefined when they name none. The files are read again, so that it
 * changes without a restart. Throws a PreconditionError when the first read fails.
 */
export async function openCertificate(
  { HTTP_TLS_CERT_FILE, HTTP_TLS_KEY_FILE }: CertificateSettings,
  log: Log,
  everyMs?: number,
): Promise<Certificate | undefined> {
  const settings = { HTTP_TLS_CERT_FILE, HTTP_TLS_KEY_FILE }
  if (HTTP_TLS_CERT_FILE === undefined && HTTP_TLS_KEY_FILE === undefined) return undefined

  let server: TlsServer | undefined
  const { current, close } = await openReloaded({
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
    expiresAt: () => expiry().getTime() / 1_000,
    renewOn(renewed) {
      if (!(renewed instanceof TlsServer)) return
      server = renewed
      server.setSecureContext(current())
    },
    close,
  }
}
