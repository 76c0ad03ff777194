import { X509Certificate } from 'node:crypto'
import { readFileSync, type Stats, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf, PreconditionError } from './failures.ts'
import { filesOfConnections, inTime, type ReadFiles } from './reloaded.ts'

/** Settings by their names; some name files. */
export type SettingValues = Readonly<Record<string, string | undefined>>

/** Returns the text of the file that a setting names. */
export type ReadFile = (settings: SettingValues, name: string) => string

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

/** As `readSettingFile`, but a file system that does not respond blocks only one thread of the pool. */
export async function loadSettingFile(settings: SettingValues, name: string): Promise<string> {
  const path = settings[name] ?? ''
  try {
    assertReadable(await stat(path))
    return notEmpty(await readFile(path, 'utf8'))
  } catch (error) {
    throw unreadable(name, path, error as NodeJS.ErrnoException)
  }
}

/** Calls `use` with a reader of the files that these settings name. They are read before, one by one. */
export async function withFiles<T>(settings: SettingValues, prefix: string, use: (read: ReadFile) => T): Promise<T> {
  const texts = new Map<string, string>()
  for (const [name, path] of Object.entries(settings)) {
    const isFile = name.startsWith(prefix) && name.endsWith('_FILE') && path !== undefined
    if (isFile) texts.set(name, await loadSettingFile(settings, name))
  }
  return use((_settings, name) => texts.get(name) ?? '')
}

/** What `read` makes of the files that these settings name, read again before each connection; it may throw. */
export function connectionFiles<T>(
  what: string,
  settings: SettingValues,
  prefix: string,
  read: (readFile?: ReadFile) => T,
): ReadFiles<T> {
  return filesOfConnections(what, read(), () => withFiles(settings, prefix, read))
}

/**
 * Throws a PreconditionError when the files that the settings name are not read in time: the synchronous reads of a
 * start would block the process. Those report all other faults.
 */
export async function assertFilesRespond(settings: SettingValues, withinMs?: number, load = withFiles): Promise<void> {
  const tried = load(settings, '', () => {}).catch(() => {})
  await inTime(tried, 'files of the settings', withinMs).catch((error: unknown) => {
    throw new PreconditionError(`settings: ${messageOf(error)}`)
  })
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
export function readSecret(settings: SettingValues, name: string, read: ReadFile = readSettingFile) {
  if (settings[name] !== undefined) return settings[name]
  if (settings[`${name}_FILE`] === undefined) return undefined
  return read(settings, `${name}_FILE`).replace(/\r?\n$/, '')
}

/**
 * The certificates and the key in the files that `<prefix>_CA_FILE`, `_CERT_FILE` and `_KEY_FILE` name. Throws an Error
 * that names the setting and the fix.
 */
export function readTlsFiles(settings: SettingValues, prefix: string, read: ReadFile = readSettingFile): TlsFiles {
  const [caFile, certFile, keyFile] = [`${prefix}_CA_FILE`, `${prefix}_CERT_FILE`, `${prefix}_KEY_FILE`] as const
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
