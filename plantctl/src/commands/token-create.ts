import { randomBytes } from 'node:crypto'
import { formatInstant } from '@plant-store/shared/access/instant.ts'
import { isScope, SCOPES, type Scope, scopesAmong } from '@plant-store/shared/access/scope.ts'
import { digestOf, formatTokenEntry, isLabel } from '@plant-store/shared/access/token-entry.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { readOptions } from '../options.ts'
import { endOf } from './token-lifetime.ts'

const TOKEN_BYTES = 32
const help = `Makes a bearer token for one client of the api, and the entry by which the api knows it. The token is shown only
now and stored nowhere; the entry holds its SHA-256, and is no secret.

  plantctl token create --label reports --scope plants:read
  plantctl token create --label shop --scope plants:write --scope plants:read --expires 90d
  plantctl token create --label shop --scope plants:write --expires 2027-01-31T00:00:00Z --json

  --label    who the token is for: up to 64 of a-z 0-9 . _ - ; a token that replaces another keeps its label,
             for it is also what tells whose Idempotency-Key it is
  --scope    what it is for, plants:write or plants:read; both when given twice
  --expires  how long it is accepted, as 90d, 12h or 30m, or an instant in UTC; without it there is no end
  --json     one JSON object with token, entry, label, scopes and, if it has an end, expires

Add the entry to PLANT_STORE_TOKEN_DIGESTS, where commas separate entries, or as a line to the file of
PLANT_STORE_TOKEN_DIGESTS_FILE, which each api reads again within 5 s. Then give the client its token.
`

/** plantctl token create */
export const tokenCreate: Command = {
  summary: 'makes a bearer token, and the entry by which the api knows it',
  help,
  async run(args, { out }) {
    const { values } = readOptions(args, {
      label: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
      json: { type: 'boolean' },
    })
    const { expires, json } = values
    const label = labelOf(values.label)
    const scopes = scopesOf(values.scope ?? [])
    const end = expires === undefined ? {} : { expiresAtMs: endOf(expires, Date.now()) }
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const entry = formatTokenEntry({ label, digest: digestOf(token), scopes, ...end })
    const told = end.expiresAtMs === undefined ? {} : { expires: formatInstant(end.expiresAtMs) }
    await out(json ? `${JSON.stringify({ token, entry, label, scopes, ...told })}\n` : inWords(token, entry))
    return EXIT.done
  },
}

function inWords(token: string, entry: string): string {
  return `The token, for the client. It is shown only now:
  ${token}

Its entry, for PLANT_STORE_TOKEN_DIGESTS or a line of the file PLANT_STORE_TOKEN_DIGESTS_FILE:
  ${entry}
`
}

function labelOf(label: string | undefined): string {
  if (label === undefined) throw new UsageError('--label is missing: who is the token for?')
  if (!isLabel(label)) {
    throw new UsageError(
      `--label ${label}: expected up to 64 of a-z 0-9 . _ - , beginning with a letter or a digit`,
    )
  }
  return label
}

function scopesOf(given: readonly string[]): Scope[] {
  const wrong = given.find((scope) => !isScope(scope))
  if (wrong !== undefined) throw new UsageError(`--scope ${wrong}: expected ${SCOPES.join(' or ')}`)
  if (given.length === 0) throw new UsageError(`--scope is missing: ${SCOPES.join(', or ')}, or both`)
  return scopesAmong(given)
}
