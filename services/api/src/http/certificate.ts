import { X509Certificate } from 'node:crypto'
import type { Server } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { messageOf, PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import { readTlsFiles, type TlsFiles, tlsFileFaults } from '@plant-store/shared/runtime/setting-files.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'

const RELOAD_EVERY_MS = 5_000

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
 * Opens the certificate that the settings name; undefined when they name none. The files are read again every 5 s.
 * While they cannot be used, the previous certificate stays. Throws a PreconditionError when the first read fails.
 */
export function openCertificate(
  { HTTP_TLS_CERT_FILE, HTTP_TLS_KEY_FILE }: CertificateSettings,
  log: Log,
  reloadEveryMs = RELOAD_EVERY_MS,
): Certificate | undefined {
  const settings = { HTTP_TLS_CERT_FILE, HTTP_TLS_KEY_FILE }
  const faults = tlsFileFaults(settings, 'HTTP_TLS')
  if (faults.length > 0) throw new PreconditionError(`settings: ${faults.join('; ')}`)
  if (HTTP_TLS_CERT_FILE === undefined) return undefined

  let files = readTlsFiles(settings, 'HTTP_TLS')
  let server: TlsServer | undefined
  let lastError = ''
  const expiry = () => new X509Certificate(files.cert ?? '').validToDate

  async function reload(): Promise<void> {
    try {
      const read = readTlsFiles(settings, 'HTTP_TLS')
      lastError = ''
      if (isDeepStrictEqual(read, files)) return
      files = read
      server?.setSecureContext(files)
      log.info({ expiresAt: expiry() }, 'new connections have a new certificate')
    } catch (error) {
      const message = messageOf(error)
      if (message !== lastError) log.error(`${message}; the previous certificate stays until this is corrected`)
      lastError = message
    }
  }

  const reloading = repeat({
    time: systemTime,
    everyMs: reloadEveryMs,
    what: 'reading the certificate',
    log,
    task: reload,
    onHalt() {},
  })
  return {
    current: () => files,
    expiresAt: () => expiry().getTime() / 1_000,
    renewOn(renewed) {
      if (!(renewed instanceof TlsServer)) return
      server = renewed
      server.setSecureContext(files)
    },
    close: reloading.close,
  }
}
