import { X509Certificate } from 'node:crypto'
import { readFileSync, type Stats, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf } from './failures.ts'

/** Settings by their names; some name files. */
export type SettingValues = Readonly<Record<string, string | undefined>>

export type TlsFiles = { ca?: string; cert?: string; key?: string }

const MAX_BYTES = 1_048_576

/** Reads the file that a setting names. Throws an Error that names the setting and the fix. */
function readSettingFile(settings: SettingValues, name: string): string {
  const path = settings[name] ?? ''
  try {
    assertReadable(statSync(path))
    return notEmpty(readFileSync(path, 'utf8'))
  } catch (error) {
    throw unreadable(name, path, error as NodeJS.ErrnoException)
  }
}

/** As `readSettingFile`, but a file system that does not respond blocks only one thread of the pool for files. */
export async function loadSettingFile(settings: SettingValues, name: string): Promise<string> {
  const path = settings[name] ?? ''
  try {
    assertReadable(await stat(path))
    return notEmpty(await readFile(path, 'utf8'))
  } catch (error) {
    throw unreadable(name, path, error as NodeJS.ErrnoException)
  }
}

/** A pipe would block its reader. */
function assertReadable(stats: Stats): void {
  if (!stats.isFile()) throw new Error('which is not a regular file')
  if (stats.size > MAX_BYTES) throw new Error(`which is larger than ${MAX_BYTES} bytes`)
}

function notEmpty(text: string): string {
  if (text.trim() === '') throw new Error('which is empty')
  return text
}

function unreadable(name: string, path: string, { code, message }: NodeJS.ErrnoException): Error {
  const fault =
    code === undefined ? message : `which cannot be read (${code}): correct the path or the file's permissions`
  return new Error(`${name} names ${path}, ${fault}`)
}

/**
 * The secret in the setting `name`, or in the file that `<name>_FILE` names; undefined without either. Editors end a
 * file with a line break, which is no part of the secret. Throws an Error that names the setting and the fix.
 */
export function readSecret(settings: SettingValues, name: string): string | undefined {
  if (settings[name] !== undefined) return settings[name]
  if (settings[`${name}_FILE`] === undefined) return undefined
  return readSettingFile(settings, `${name}_FILE`).replace(/\r?\n$/, '')
}

/**
 * The certificates and the key in the files that `<prefix>_CA_FILE`, `_CERT_FILE` and `_KEY_FILE` name. Throws an Error
 * that names the setting and the fix.
 */
export function readTlsFiles(settings: SettingValues, prefix: string, read = readSettingFile): TlsFiles {
  const [caFile, certFile, keyFile] = tlsSettings(prefix)
  if ((settings[certFile] === undefined) !== (settings[keyFile] === undefined)) {
    throw new Error(`${certFile} and ${keyFile} belong together: set both or neither`)
  }
  const certificates = (name: string) => assertCertificates(read(settings, name), settings, name)
  const ca = settings[caFile] === undefined ? {} : { ca: certificates(caFile) }
  if (settings[certFile] === undefined) return ca
  const [cert, key] = [certificates(certFile), read(settings, keyFile)]
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new Error(
      `${keyFile} must name the key of the certificate in ${certFile}, as PEM without a passphrase (${messageOf(error)})`,
    )
  }
  return { ...ca, cert, key }
}

/** As `readTlsFiles`, but by `loadSettingFile`. */
export async function loadTlsFiles(settings: SettingValues, prefix: string): Promise<TlsFiles> {
  const names = tlsSettings(prefix).filter((name) => settings[name] !== undefined)
  const texts = await Promise.all(names.map(async (name) => [name, await loadSettingFile(settings, name)] as const))
  const textOf: ReadonlyMap<string, string> = new Map(texts)
  return readTlsFiles(settings, prefix, (_settings, name) => textOf.get(name) ?? '')
}

const tlsSettings = (prefix: string) => [`${prefix}_CA_FILE`, `${prefix}_CERT_FILE`, `${prefix}_KEY_FILE`] as const

/** The faults of the settings that `readTlsFiles` reads, as text for people. */
export const tlsFileFaults = (settings: SettingValues, prefix: string): string[] =>
  faultOf(() => readTlsFiles(settings, prefix))

/** The faults of the secret that `readSecret` reads, as text for people. */
export const secretFaults = (settings: SettingValues, name: string): string[] =>
  faultOf(() => readSecret(settings, name))

function faultOf(read: () => unknown): string[] {
  try {
    read()
    return []
  } catch (error) {
    return [messageOf(error)]
  }
}

/** Node ignores a file of authorities without a certificate, and all that follows a certificate that is cut off. */
function assertCertificates(pem: string, settings: SettingValues, name: string): string {
  try {
    new X509Certificate(pem)
  } catch {
    throw new Error(`${name} names ${settings[name]}, which has no certificate in PEM`)
  }
  if (pem.match(/^-----BEGIN /gm)?.length !== pem.match(/^-----END .+-----\s*$/gm)?.length) {
    throw new Error(`${name} names ${settings[name]}, which is cut off: a certificate has no end`)
  }
  return pem
}
