import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, getCACertificates } from 'node:tls'
import { messageOf } from '../runtime/failures.ts'
import type { KafkaSettings } from './kafka-settings.ts'

type FileSetting = Extract<keyof KafkaSettings, `${string}_FILE`>

/** Reads the file that a setting names. Throws an Error that names the setting and the fix. */
export function readFileOf(settings: KafkaSettings, name: FileSetting): string {
  const path = settings[name] ?? ''
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`${name} names ${path}, which cannot be read (${code}): correct the path or the file's permissions`)
  }
  if (text.trim() === '') throw new Error(`${name} names ${path}, which is empty`)
  return text
}

/** A secret, given as text or as a file. Editors end a file with a line break, which is no part of the secret. */
export function readSecretOf(
  settings: KafkaSettings,
  name: 'KAFKA_SASL_PASSWORD' | 'KAFKA_SASL_OAUTH_CLIENT_SECRET',
): string {
  return settings[name] ?? readFileOf(settings, `${name}_FILE`).replace(/\r?\n$/, '')
}

export type Tls = { ca: string | string[]; cert?: string; key?: string }

/**
 * The certificates and the key as they are now; the authorities of the system and of Node without a file of
 * authorities. Throws an Error that names the setting and the fix.
 */
export function readTls(settings: KafkaSettings): Tls {
  const { KAFKA_SSL_CA_FILE: caFile, KAFKA_SSL_CERT_FILE: certFile } = settings
  const ca =
    caFile === undefined
      ? [...new Set([...getCACertificates('default'), ...getCACertificates('system')])]
      : readCertificates(settings, 'KAFKA_SSL_CA_FILE')
  if (certFile === undefined) return { ca }
  const cert = readCertificates(settings, 'KAFKA_SSL_CERT_FILE')
  const key = readFileOf(settings, 'KAFKA_SSL_KEY_FILE')
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new Error(
      `KAFKA_SSL_KEY_FILE must be the key of the certificate in KAFKA_SSL_CERT_FILE, as PEM without a passphrase (${messageOf(error)})`,
    )
  }
  return { ca, cert, key }
}

/** Node ignores a file of authorities that has none. */
function readCertificates(settings: KafkaSettings, name: 'KAFKA_SSL_CA_FILE' | 'KAFKA_SSL_CERT_FILE'): string {
  const pem = readFileOf(settings, name)
  try {
    new X509Certificate(pem)
  } catch {
    throw new Error(`${name} names ${settings[name]}, which has no certificate in PEM`)
  }
  return pem
}
