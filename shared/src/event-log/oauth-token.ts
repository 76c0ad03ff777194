import {
  allowInsecureRequests,
  ClientSecretBasic,
  clientCredentialsGrantRequest,
  processClientCredentialsResponse,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import { singleFlight } from '../runtime/single-flight.ts'
import { systemTime, type Time } from '../runtime/time.ts'
import { Refused, TokenMissing } from './broker-errors.ts'

const REQUEST_TIMEOUT_MS = 5_000
/** The part of its lifetime in which a token is given out: the rest is enough to log in and to work with it. */
const USED_PART = 0.5
/** The lifetime of a token that comes without one. A login may give up before a slow server responds: the next takes it. */
const UNKNOWN_LIFETIME_S = 20

export type TokenSourceOptions = {
  tokenUrl: string
  clientId: string
  /** Called for each request of a token. */
  clientSecret(): string
  scope: string | undefined
  time?: Time
}

/**
 * Requests access tokens with the credentials of a client (RFC 6749, section 4.4). A token is given out again during
 * the first half of its lifetime; one without a lifetime, for 10 s. `current` rejects with a Refused when the
 * server refuses the client, and with a TokenMissing when it does not respond.
 */
export function createTokenSource({ tokenUrl, clientId, clientSecret, scope, time = systemTime }: TokenSourceOptions) {
  const server = { issuer: tokenUrl, token_endpoint: tokenUrl }
  const client = { client_id: clientId }
  let token = ''
  let usedUntil = Number.NEGATIVE_INFINITY

  const request = singleFlight(async () => {
    const requestedAt = time.now()
    const granted = await requestToken(clientSecret())
    token = granted.access_token
    usedUntil = requestedAt + (granted.expires_in ?? UNKNOWN_LIFETIME_S) * 1_000 * USED_PART
    return token
  })

  async function requestToken(secret: string) {
    try {
      const response = await clientCredentialsGrantRequest(
        server,
        client,
        ClientSecretBasic(secret),
        scope === undefined ? {} : { scope },
        { [allowInsecureRequests]: true, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) },
      )
      return await processClientCredentialsResponse(server, client, response)
    } catch (error) {
      if (error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError) {
        throw new Refused(
          `KAFKA_SASL_OAUTH_TOKEN_URL grants no token (${'error' in error ? error.error : error.status}): correct KAFKA_SASL_OAUTH_CLIENT_ID, ` +
            'KAFKA_SASL_OAUTH_CLIENT_SECRET or KAFKA_SASL_OAUTH_SCOPE',
        )
      }
      const text = 'KAFKA_SASL_OAUTH_TOKEN_URL does not respond with a token: check its server and this address'
      throw new TokenMissing(text, { cause: error })
    }
  }

  return {
    current: async (): Promise<string> => (time.now() < usedUntil ? token : request()),

    /** Kafka has refused the token. */
    forget(): void {
      usedUntil = Number.NEGATIVE_INFINITY
    },
  }
}
