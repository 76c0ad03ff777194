import { createServer, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'
import { openPort } from './listen.ts'

export const ISSUER = 'https://id.example'
export const AUDIENCE = 'plants'
const ALGORITHM = 'ES256'
/** Right or wrong ones. */
export type Claims = Record<string, unknown>

const LIFETIME_MS = 600_000

/** One that signs JWTs, and publishes its keys on a port of this machine; it ends with the test. */
export async function startIssuer() {
  const issuer = await openIssuer()
  onTestFinished(issuer.end)
  return issuer
}

/** The same for several tests; its opener ends it. */
export async function openIssuer() {
  const keys = new Map<string, Awaited<ReturnType<typeof generateKeyPair>>>()
  let published: string[] = []
  const requests = { count: 0 }
  const issuer = {
    url: '',
    requests,
    /** Answers the next requests for the keys. */
    respond: respondWithKeys as (response: ServerResponse) => unknown,
    respondWithKeys,

    /** Publishes these keys and no others; those that are new are made. */
    async publish(...names: string[]): Promise<void> {
      for (const name of names) await keyNamed(name)
      published = names
    },

    publicKey: async (name: string) => (await keyNamed(name)).publicKey,
    privateKey: async (name: string) => (await keyNamed(name)).privateKey,

    /** A valid token with these claims changed; undefined leaves a claim out. */
    async sign(claims: Claims = {}, { kid = 'one' }: { kid?: string } = {}): Promise<string> {
      const expires = Math.floor((Date.now() + LIFETIME_MS) / 1000)
      const payload = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', scope: 'plants:write plants:read', exp: expires }
      // JSON has no undefined claims.
      const signed = new SignJWT({ ...payload, ...claims } as JWTPayload)
      return signed.setProtectedHeader({ alg: ALGORITHM, kid }).sign((await keyNamed(kid)).privateKey)
    },

    end: async (): Promise<void> => close(),
  }

  async function keyNamed(name: string) {
    const key = keys.get(name) ?? (await generateKeyPair(ALGORITHM, { extractable: true }))
    keys.set(name, key)
    return key
  }

  async function respondWithKeys(response: ServerResponse): Promise<void> {
    const all = published.map(async (kid) => ({ ...(await exportJWK((await keyNamed(kid)).publicKey)), kid }))
    const body = JSON.stringify({ keys: await Promise.all(all) })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }

  const server = createServer((_request, response) => {
    requests.count++
    issuer.respond(response)
  })
  const { port, close } = await openPort(server)
  issuer.url = `http://127.0.0.1:${port}/keys`
  await issuer.publish('one')
  return issuer
}
