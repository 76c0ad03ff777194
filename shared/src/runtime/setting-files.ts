import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { messageOf } from './failures.ts'

/** Settings by their names; some name files. */
export type SettingValues = Readonly<Record<string, string | undefined>>

export type TlsFiles = { ca?: string; cert?: string; key?: string }

/** Reads the file that a setting names. Throws an Error that names the setting and the fix. */
function readSettingFile(settings: SettingValues, name: string): string {
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
export function readTlsFiles(settings: SettingValues, prefix: string): TlsFiles {
  const [caFile, certFile, keyFile] = [`${prefix}_CA_FILE`, `${prefix}_CERT_FILE`, `${prefix}_KEY_FILE`]
  const ca = settings[caFile] === undefined ? {} : { ca: readCertificates(settings, caFile) }
  if (settings[certFile] === undefined) return ca
  const [cert, key] = [readCertificates(settings, certFile), readSettingFile(settings, keyFile)]
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new Error(
      `${keyFile} must name the key of the certificate in ${certFile}, as PEM without a passphrase (${messageOf(error)})`,
    )
  }
  return { ...ca, cert, key }
}

/** What is wrong with the settings that `readTlsFiles` reads, as text for people. */
export function tlsFileFaults(settings: SettingValues, prefix: string): string[] {
  const [certFile, keyFile] = [`${prefix}_CERT_FILE`, `${prefix}_KEY_FILE`]
  if ((settings[certFile] === undefined) !== (settings[keyFile] === undefined)) {
    return [`${certFile} and ${keyFile} belong together: set both or neither`]
  }
  return faultOf(() => readTlsFiles(settings, prefix))
}

/** What is wrong with the secret that `readSecret` reads, as text for people. */
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

/** Node ignores a file of authorities that has none. */
function readCertificates(settings: SettingValues, name: string): string {
  const pem = readSettingFile(settings, name)
  try {
    new X509Certificate(pem)
  } catch {
    throw new Error(`${name} names ${settings[name]}, which has no certificate in PEM`)
  }
  return pem
}
