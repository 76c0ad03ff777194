import { readFile } from 'node:fs/promises'
import { PreconditionError } from '@plant-store/shared/process/failures.ts'
import type { Log } from '@plant-store/shared/process/log.ts'
import { repeat } from '@plant-store/shared/process/repeat.ts'
import { systemTime } from '@plant-store/shared/process/time.ts'
import { createTokenCheck, parseTokenDigests, type TokenCheck } from './tokens.ts'

const READ_AGAIN_EVERY_MS = 5_000

export type TokenSettings = {
  PLANT_STORE_TOKEN_DIGESTS?: string
  PLANT_STORE_TOKEN_DIGESTS_FILE?: string
}

export type Tokens = { callerOf: TokenCheck; close(): Promise<void> }

/**
 * The tokens to accept, of the settings or of a file. The file is read again every 5 s, so that a token is
 * given or taken away without a restart; while it can't be read or is wrong, what it held before stays in force.
 * Throws a PreconditionError when there is nothing to begin with.
 */
export async function openTokens(
  { PLANT_STORE_TOKEN_DIGESTS: entries, PLANT_STORE_TOKEN_DIGESTS_FILE: file }: TokenSettings,
  log: Log,
  readAgainEveryMs = READ_AGAIN_EVERY_MS,
): Promise<Tokens> {
  if (entries !== undefined && file === undefined) {
    return {
      callerOf: createTokenCheck(parseTokenDigests(entries, 'PLANT_STORE_TOKEN_DIGESTS')),
      async close() {},
    }
  }
  if (entries !== undefined || file === undefined) {
    throw new PreconditionError(
      'settings: the api needs to know which tokens to accept: set either PLANT_STORE_TOKEN_DIGESTS or ' +
        'PLANT_STORE_TOKEN_DIGESTS_FILE (see the README)',
    )
  }
  let callerOf = await readTokens(file)
  let said = ''

  async function readAgain(tokensFile: string): Promise<void> {
    try {
      callerOf = await readTokens(tokensFile)
      said = ''
    } catch (error) {
      const { message } = error as Error
      if (message !== said) log.error(`${message}; the tokens accepted so far still are`)
      said = message
    }
  }

  const repeated = repeat({
    ...{ time: systemTime, everyMs: readAgainEveryMs, what: 'reading the tokens', log },
    task: () => readAgain(file),
    onHalt() {},
  })
  return { callerOf: (token) => callerOf(token), close: repeated.close }
}

async function readTokens(file: string): Promise<TokenCheck> {
  const entries = await readFile(file, 'utf8').catch((cause: Error) => {
    throw new PreconditionError(`settings: PLANT_STORE_TOKEN_DIGESTS_FILE can't be read: ${cause.message}`)
  })
  return createTokenCheck(parseTokenDigests(entries, `the file ${file}`))
}
