import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { openIssuer } from './issuer.ts'
import { openPort } from './listen.ts'
import { SECRET_MARK } from './secrets.ts'

/** The claims of a token that the brokers require. From Kafka 4.4 on they do not start without both. */
export const EXPECTED = { issuer: 'https://issuer.example', audience: 'kafka' }

/**
 * A server that grants signed tokens to one client by its secret, as an OIDC provider does, and publishes its key.
 * With `namesLifetime: false` only the tokens themselves say how long they are valid.
 */
export async function startTokenEndpoint(clientId: string, { lifetimeS = 300, namesLifetime = true } = {}) {
  let secret = `a-client-secret-${SECRET_MARK}`
  let granted = 0
  const issuer = await openIssuer()

  async function respond({ headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, basic = ''] = headers.authorization?.split('Basic ') ?? []
    const isClient = decodeURIComponent(Buffer.from(basic, 'base64').toString()) === `${clientId}:${secret}`
    response.writeHead(isClient ? 200 : 401, { 'content-type': 'application/json' })
    if (!isClient) return void response.end('{"error":"invalid_client"}')
    granted++
    const iat = Math.floor(Date.now() / 1_000)
    const claims = { iss: EXPECTED.issuer, aud: EXPECTED.audience, sub: clientId, iat, exp: iat + lifetimeS }
    const token = { access_token: await issuer.sign(claims), token_type: 'Bearer' }
    response.end(JSON.stringify({ ...token, ...(namesLifetime && { expires_in: lifetimeS }) }))
  }

  const { port, close } = await openPort(createServer((request, response) => void respond(request, response)))
  return {
    url: `http://127.0.0.1:${port}/token`,
    keysUrl: issuer.url,
    secret: () => secret,
    granted: () => granted,
    changeSecret(next: string): void {
      secret = next
    },
    close(): void {
      close()
      void issuer.end()
    },
  }
}
