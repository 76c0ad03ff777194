import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTokenEntries, parseTokenFile } from '@plant-store/shared/access/token-entry.ts'
import { exampleBody, PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { digestOf, storedToken, TOKEN_PATTERN, TOKEN_RULE } from './launch/token.ts'
import { describe, Failure } from './processes/failure.mjs'
import { writeWhole } from './processes/whole-file.ts'

// The first step of `docker compose up`: writes the digests of the accepted tokens to the file that the api reads, and
// creates a token if none is configured. The first of these settings that is set counts. Invalid values are rejected
// here, where the name of the setting is known.

type Choice = { digests: string; message: string }

try {
  const { TOKENS_DIR = '.', DIGESTS_DIR = '.', ...env } = process.env
  const { digests, message } = choose(env, TOKENS_DIR)
  writeWhole(join(DIGESTS_DIR, 'token-digests'), `${digests.trim()}\n`)
  console.log(message)
} catch (error) {
  console.error(error instanceof PreconditionError ? error.message : describe(error))
  process.exitCode = 1
}

function choose(env: NodeJS.ProcessEnv, dir: string): Choice {
  const { PLANT_STORE_TOKEN_DIGESTS, PLANT_STORE_TOKEN_DIGESTS_FILE: file, PLANT_STORE_TOKEN } = env
  if (PLANT_STORE_TOKEN_DIGESTS) return entriesOf(PLANT_STORE_TOKEN_DIGESTS, 'PLANT_STORE_TOKEN_DIGESTS')
  if (file) return entriesOf(readSecret(file, env.SECRET ?? ''), file, parseTokenFile)
  if (PLANT_STORE_TOKEN) {
    if (!TOKEN_PATTERN.test(PLANT_STORE_TOKEN)) throw new Failure(`PLANT_STORE_TOKEN: expected ${TOKEN_RULE}.`)
    return { digests: digestOf(PLANT_STORE_TOKEN), message: 'The api accepts the token of PLANT_STORE_TOKEN.' }
  }
  const token = storedToken(dir)
  return { digests: digestOf(token), message: welcome(env.URL ?? '', token) }
}

function entriesOf(digests: string, origin: string, parse = parseTokenEntries): Choice {
  const count = parse(digests, origin).length
  return { digests, message: `The api accepts ${count === 1 ? 'the token' : `the ${count} tokens`} of ${origin}.` }
}

/** `file` is its name on the host, `mountedAt` in this container. */
function readSecret(file: string, mountedAt: string): string {
  try {
    return readFileSync(mountedAt, 'utf8')
  } catch (error) {
    throw new Failure(
      `PLANT_STORE_TOKEN_DIGESTS_FILE=${file} cannot be read in the container (${(error as Error).message}). It must be ` +
        'a file that uid 1000 may read: it holds digests, not tokens.',
    )
  }
}

function welcome(url: string, token: string): string {
  const auth = `-H 'authorization: Bearer ${token}'`
  return `No token is configured (PLANT_STORE_TOKEN, PLANT_STORE_TOKEN_DIGESTS or PLANT_STORE_TOKEN_DIGESTS_FILE).
This one was created; it is stored in the volume "tokens":
  token  ${token}

Create a plant, as soon as the api is healthy (in a POSIX shell):
  curl -i ${url}/plants ${auth} -H 'content-type: application/json' -d '${exampleBody(PLANT_EXAMPLES.full)}'
`
}
