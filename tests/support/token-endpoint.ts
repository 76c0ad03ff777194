import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that grants tokens to one client by its secret, as an OIDC provider does. Its tokens are unsigned. */
export async function startTokenEndpoint(clientId: string, { lifetimeS = 300 }: { lifetimeS?: number } = {}) {
  let secret = 'a-client-secret'
  let granted = 0
  const server = createServer((request, response) => {
    const [, basic = ''] = request.headers.authorization?.split('Basic ') ?? []
    const isClient = decodeURIComponent(Buffer.from(basic, 'base64').toString()) === `${clientId}:${secret}`
    if (isClient) granted++
    const body = isClient
      ? { access_token: tokenOf(clientId, lifetimeS), token_type: 'Bearer', expires_in: lifetimeS }
      : { error: 'invalid_client' }
    response.writeHead(isClient ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    secret: () => secret,
    granted: () => granted,
    changeSecret(next: string): void {
      secret = next
    },
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** An unsigned JWT, which Kafka accepts unless it is told where the keys are. */
function tokenOf(sub: string, lifetimeS: number): string {
  const now = Date.now() / 1_000
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ sub, iat: now, exp: now + lifetimeS })}.`
}
