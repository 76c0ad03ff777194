import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const ALGORITHM = 'ES256'
const KEY_ID = 'one'
const KEYS_PATH = '/keys'

/** A server that grants signed tokens to one client by its secret, as an OIDC provider does, and publishes its key. */
export async function startTokenEndpoint(clientId: string, { lifetimeS = 300 }: { lifetimeS?: number } = {}) {
  let secret = 'a-client-secret'
  let granted = 0
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM)
  const keys = [{ ...(await exportJWK(publicKey)), kid: KEY_ID }]
  const newToken = () =>
    new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM, kid: KEY_ID })
      .setSubject(clientId)
      .setIssuedAt()
      .setExpirationTime(`${lifetimeS} s`)
      .sign(privateKey)

  const server = createServer(async (request, response) => {
    const json = { 'content-type': 'application/json' }
    if (request.url === KEYS_PATH) {
      response.writeHead(200, json).end(JSON.stringify({ keys }))
      return
    }
    const [, basic = ''] = request.headers.authorization?.split('Basic ') ?? []
    const isClient = decodeURIComponent(Buffer.from(basic, 'base64').toString()) === `${clientId}:${secret}`
    if (isClient) granted++
    const body = isClient
      ? { access_token: await newToken(), token_type: 'Bearer', expires_in: lifetimeS }
      : { error: 'invalid_client' }
    response.writeHead(isClient ? 200 : 401, json).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${origin}/token`,
    keysUrl: `${origin}${KEYS_PATH}`,
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
