import { EventEmitter, once } from 'node:events'
import { ReplyError } from 'ioredis'
import { expect, it } from 'vitest'
import { redisProblemOf, withExplainedErrors } from './redis-problems.ts'

const ADDRESS = 'redis://localhost:6379'
const LOGIN = { redis: 'REDIS_USERNAME or REDIS_PASSWORD_FILE', sentinel: 'REDIS_SENTINEL_PASSWORD' }

const problemOf = (error: Error) => redisProblemOf(error, { address: ADDRESS, loginSettings: LOGIN })

/** As Redis 6.2 wraps an error within a script. */
const IN_SCRIPT = 'ERR Error running script (call to f_1): @user_script:9:'
const AT_SENTINELS = 'All sentinels are unreachable. Retrying from scratch after 50ms. Last error:'

// As Redis 6.2, Redis 7.0, a sentinel and OpenSSL word them.
it.each([
  ['WRONGPASS invalid username-password pair or user is disabled.', /^Redis refuses .*correct REDIS_USERNAME or/],
  ['NOAUTH HELLO must be called with the client already authenticated', /^Redis requires a login: set REDIS_USERNAME/],
  [`${AT_SENTINELS} NOAUTH Authentication required.`, /^a sentinel requires a login: set REDIS_SENTINEL_PASSWORD/],
  ["NOPERM this user has no permissions to run the 'info' command or its subcommand", /give the user \+info;/],
  [
    'NOPERM this user has no permissions to access one of the keys used as arguments',
    /give the user access to the keys of the topic;/,
  ],
  [
    `${IN_SCRIPT} -NOPERM The user executing the script can't run this command`,
    /give the user all rights of a script;/,
  ],
  ["ERR ACL failure in script: this user has no permissions to run the 'hget' command", /give the user \+hget;/],
  ['ERR max number of clients reached', /^Redis has no room for more clients: raise its maxclients/],
  ['DENIED Redis is running in protected mode because', /^Redis is in protected mode \(DENIED\): give its users/],
  ['Unknown RESP type 72 "H". Please report this.', /^what responds there is not Redis: correct the address/],
  [`${AT_SENTINELS} ERR No such master with that name`, /^the sentinels do not know REDIS_SENTINEL_NAME: correct it$/],
  [
    `${AT_SENTINELS} ERR unknown command \`sentinel\`, with args`,
    /^REDIS_SENTINELS names a server that is no sentinel: set REDIS_URL instead$/,
  ],
  ['ERR This instance has cluster support disabled', /^REDIS_CLUSTER_NODES names a server without a cluster: set/],
  ['ERR unknown command `info`, with args beginning with: ', /^Redis has no command info: undo its rename-command;/],
  [`${IN_SCRIPT} Unknown Redis command called from Lua script`, /^Redis has no command of a script: undo its rename-c/],
  ['no node of the Redis Cluster is ready', /^the nodes of the Redis Cluster cannot be used: check their state/],
  ['ERR DB index is out of range', /^Redis does not have this database: correct the number in REDIS_URL/],
  ['unable to verify the first certificate', /REDIS_CA_FILE must name its authority/],
  ['certificate has expired', /^the certificate of Redis has expired or is not valid yet: renew it, or correct/],
  ["Hostname/IP does not match certificate's altnames: IP: 10.0.0.1 is not in the cert's list", /a name that it has/],
  ['ssl3_read_bytes:tlsv13 alert certificate required', /set REDIS_CERT_FILE and REDIS_KEY_FILE/],
  ['ssl3_get_record:wrong version number', /does not use TLS at this port/],
])('an error of Redis is explained with its fix: %s', (message, explanation) => {
  expect(problemOf(new Error(message))).toMatch(explanation)
  expect(problemOf(new Error(message))).not.toContain(message)
})

const UNREACHABLE = `Redis at ${ADDRESS} is not reachable: check that it runs and that address and TLS are right`
const HANGS = `Redis at ${ADDRESS} does not respond (timed out): check that it runs and is not overloaded`
// As ioredis words them.
it.each([
  ["Stream isn't writeable and enableOfflineQueue options is false", UNREACHABLE],
  ['Connection is closed.', UNREACHABLE],
  ['no node of the Redis Cluster is reachable', UNREACHABLE],
  ['Command aborted due to connection close', UNREACHABLE],
  ['Cluster is ended.', UNREACHABLE],
  [`${AT_SENTINELS} connect ECONNREFUSED 127.0.0.1:1`, UNREACHABLE],
  ['Command timed out', HANGS],
  ["Socket timeout. Expecting data, but didn't receive any in 5000ms.", HANGS],
])('an error of the client names the address and the remedy: %s', (message, problem) => {
  expect(problemOf(new Error(message))).toBe(problem)
})

it.each([
  ...['OOM', 'MISCONF', 'MOVED', 'NOREPLICAS', 'READONLY', 'LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'WRONGTYPE'],
  ...['BUSY', 'TRYAGAIN'],
])('a reply has its code %s and a remedy, also within a script', (code) => {
  for (const text of [`${code} some text`, `${IN_SCRIPT} -${code} x`]) {
    expect(problemOf(new ReplyError(text))).toMatch(new RegExp(`^Redis at ${ADDRESS} .*\\(${code}\\): (?!see)\\w`))
    expect(problemOf(new ReplyError(text))).not.toContain(text)
  }
})

it('any other reply has its code, and is a moving slot when a script finds only some of its keys', () => {
  const problem = (text: string) => problemOf(new ReplyError(text))
  expect(problem('NEW some text')).toBe(`Redis at ${ADDRESS} refuses a call (NEW): see its log`)
  const partly = `${IN_SCRIPT} Lua script attempted to access a non local key in a cluster node`
  expect(problem(partly)).toBe(`Redis at ${ADDRESS} is moving the keys of a slot (ASK): wait`)
})

it('what has not happened in time is a time-out, and any other error of the service has its own text', async () => {
  const waiting = once(new EventEmitter(), 'ready', { signal: AbortSignal.timeout(1) })
  expect(problemOf(await waiting.catch((error) => error))).toBe(HANGS)
  expect(problemOf(new RangeError('the read model has an invalid checkpoint'))).toBeUndefined()
  // The error of a command that the user interrupts.
  expect(problemOf(new DOMException('This operation was aborted', 'AbortError'))).toBeUndefined()
})

it('calls, each of several, and iterations reject with the explained error, and its cause', async () => {
  const fail = async () => Promise.reject(new Error('raw'))
  const methods = {
    ...{ call: fail, callEach: () => [fail()], value: () => 7 },
    async *iterate() {
      yield 1
      await fail()
    },
  }
  const { call, callEach, iterate, value } = withExplainedErrors(methods, (cause) => new Error('explained', { cause }))
  const expected = expect.objectContaining({ message: 'explained', cause: new Error('raw') })
  await expect(call()).rejects.toEqual(expected)
  await expect(callEach()[0]).rejects.toEqual(expected)
  const items = iterate()
  expect(await items.next()).toEqual({ value: 1, done: false })
  await expect(items.next()).rejects.toEqual(expected)
  expect(value()).toBe(7)
})
