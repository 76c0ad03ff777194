import { readFile } from 'node:fs/promises'
import { parseTokenEntries, type TokenEntry } from '@plant-store/shared/access/token-entry.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import type { Log } from '@plant-store/shared/runtime/log.ts'
import { repeat } from '@plant-store/shared/runtime/retry.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'

const READ_AGAIN_EVERY_MS = 5_000

export type Tokens = { entries(): readonly TokenEntry[]; close(): Promise<void> }

/**
 * The tokens of a file, which is read again every 5 s, so that a token is given or taken away without a restart; while it
 * can't be read or is wrong, what it held before stays in force. Throws a PreconditionError when there is nothing to
 * begin with.
 */
export async function openTokens(
  file: string,
  log: Log,
  readAgainEveryMs = READ_AGAIN_EVERY_MS,
): Promise<Tokens> {
  let entries = await readTokens(file)
  let said = ''

  async function readAgain(): Promise<void> {
    try {
      entries = await readTokens(file)
      said = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== said) log.error(`${message}; the tokens accepted so far still are`)
      said = message
    }
  }

  const repeated = repeat({
    ...{ time: systemTime, everyMs: readAgainEveryMs, what: 'reading the tokens', log },
    task: readAgain,
    onHalt() {},
  })
  return { entries: () => entries, close: repeated.close }
}

async function readTokens(file: string): Promise<TokenEntry[]> {
  const text = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new PreconditionError(`settings: PLANT_STORE_TOKEN_DIGESTS_FILE can't be read: ${cause.message}`)
  })
  return parseTokenEntries(text, `the file ${file}`)
}
