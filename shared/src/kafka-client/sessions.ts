/** The part of the session that passes before the next login. */
const SESSION_PART = 0.75
const LONGEST_REST_MS = 10_000

type Connection = { sessionLifetime: { toNumber(): number }; reauthenticationThreshold: number }

/**
 * kafkajs logs in again 10 s before the end of a session. A session of 10 s or less then never begins: each request
 * logs in again, until the broker refuses it with ILLEGAL_SASL_STATE. This logs in again after three quarters of the
 * session, and at the latest 10 s before its end. Brokers accept one login a second.
 */
export function withAnySession<C extends new (options: object) => Connection>(Original: C): C {
  class SessionConnection extends (Original as new (options: object) => Connection) {}
  Object.defineProperty(SessionConnection.prototype, 'reauthenticationThreshold', {
    get(this: Connection) {
      // kafkajs calculates with whole numbers only.
      return Math.min(LONGEST_REST_MS, Math.ceil(this.sessionLifetime.toNumber() * (1 - SESSION_PART)))
    },
    set() {
      // The constructor of kafkajs sets its own.
    },
  })
  return SessionConnection as C
}

type Broker = { versions: unknown; connectionPool: { isConnected(): boolean } }

/**
 * kafkajs keeps the API versions of a broker when the connection is lost. After an upgrade of the broker at the same
 * address, this asks for the new ones.
 */
export function withFreshVersions(connect: (this: Broker) => Promise<void>) {
  return function connectWithFreshVersions(this: Broker): Promise<void> {
    if (!this.connectionPool.isConnected()) this.versions = null
    return connect.call(this)
  }
}
