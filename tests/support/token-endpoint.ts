import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openIssuer } from './issuer.ts'
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
    const body = isClient ? await grant() : { error: 'invalid_client' }
    response.writeHead(isClient ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  async function grant() {
    granted++
    const iat = Math.floor(Date.now() / 1_000)
    const claims = { iss: EXPECTED.issuer, aud: EXPECTED.audience, sub: clientId, scope: undefined }
    const token = await issuer.sign({ ...claims, iat, exp: iat + lifetimeS })
    return { access_token: token, token_type: 'Bearer', ...(namesLifetime && { expires_in: lifetimeS }) }
  }

  const server = createServer((request, response) => void respond(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    keysUrl: issuer.url,
    secret: () => secret,
    granted: () => granted,
    changeSecret(next: string): void {
      secret = next
    },
    close(): void {
      server.closeAllConnections()
      server.close()
      void issuer.end()
    },
  }
}
