import { randomBytes } from 'node:crypto'
import { isScope, SCOPES, type Scope, scopesAmong } from '@plant-store/shared/access/scope.ts'
import {
  digestOf,
  formatInstant,
  formatTokenEntry,
  INSTANT_EXAMPLE,
  isLabel,
  parseInstant,
} from '@plant-store/shared/access/token-entry.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { durationOf, FLAG, LIST, readOptions, TEXT } from '../options.ts'

const TOKEN_BYTES = 32
const help = `Creates a bearer token for one client of the api, and the entry by which the api accepts it. The token is printed once
and stored nowhere. The entry has only its SHA-256 digest and is no secret.

  plantctl token create --label reports --scope plants:read
  plantctl token create --label shop --scope plants:write --scope plants:read --expires 90d
  plantctl token create --label shop --scope plants:write --expires 2027-01-31T00:00:00Z --json

  --label    names the client: up to 64 of a-z 0-9 . _ - . A replacement token keeps the label: Idempotency-Keys belong
             to it
  --scope    plants:write or plants:read; give it twice for both
  --expires  how long the token is valid, such as 90d, 12h or 30m, or until which instant in UTC; without it, forever
  --json     one JSON object with token, entry, label, scopes and, if it expires, expires

Add the entry to PLANT_STORE_TOKEN_DIGESTS (separated by commas), or as a line to the file of
PLANT_STORE_TOKEN_DIGESTS_FILE, which every api reads again within 5 s. Then hand the token to its client.
`

export const tokenCreate: Command = {
  summary: 'creates a bearer token, and the entry by which the api accepts it',
  help,
  async run(args, { print }) {
    const { values } = readOptions(args, { label: TEXT, scope: LIST, expires: TEXT, json: FLAG })
    const { expires, json } = values
    const label = labelOf(values.label)
    const scopes = scopesOf(values.scope ?? [])
    const end = expires === undefined ? {} : { expiresAtMs: expiryOf(expires, Date.now()) }
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const entry = formatTokenEntry({ label, digest: digestOf(token), scopes, ...end })
    const expiry = end.expiresAtMs === undefined ? {} : { expires: formatInstant(end.expiresAtMs) }
    await print(json ? `${JSON.stringify({ token, entry, label, scopes, ...expiry })}\n` : textOf(token, entry))
    return EXIT.ok
  },
}

function textOf(token: string, entry: string): string {
  return `The token, for the client. It is not shown again:
  ${token}

Its entry, for PLANT_STORE_TOKEN_DIGESTS or a line of the file PLANT_STORE_TOKEN_DIGESTS_FILE:
  ${entry}
`
}

function labelOf(label: string | undefined): string {
  if (label === undefined) throw new UsageError('--label is missing: name the client that gets the token')
  if (!isLabel(label)) {
    throw new UsageError(`--label ${label}: expected up to 64 of a-z 0-9 . _ - , starting with a letter or a digit`)
  }
  return label
}

function scopesOf(texts: readonly string[]): Scope[] {
  const wrong = texts.find((text) => !isScope(text))
  if (wrong !== undefined) throw new UsageError(`--scope ${wrong}: expected ${SCOPES.join(' or ')}`)
  if (texts.length === 0) throw new UsageError(`--scope is missing: ${SCOPES.join(', or ')}, or both`)
  return scopesAmong(texts)
}

const LIFETIME_MAX_MS = 3_650 * 86_400_000

/**
 * Parses `--expires`: a duration (`90d`, `12h`, `30m`) or an instant; in ms since 1970, as is `now`. Throws a
 * UsageError for anything else, for the past, and for more than ten years.
 */
export function expiryOf(text: string, now: number): number {
  const lifetimeMs = durationOf(text)
  // Entries have whole seconds.
  const expiresAt = lifetimeMs === undefined ? parseInstant(text) : Math.ceil((now + lifetimeMs) / 1000) * 1000
  if (expiresAt === undefined) {
    throw new UsageError(`--expires ${text}: expected 90d, 12h, 30m or an instant such as ${INSTANT_EXAMPLE}`)
  }
  if (expiresAt <= now) throw new UsageError(`--expires ${text} is in the past: the time is now ${formatInstant(now)}`)
  // The time that rounding adds does not count.
  if ((lifetimeMs ?? expiresAt - now) > LIFETIME_MAX_MS)
    throw new UsageError(`--expires ${text}: expected ten years at most`)
  return expiresAt
}
