import { describe, expect, it } from 'vitest'
import { explainRedisError } from './redis-problems.ts'

const LOGIN = { redis: 'REDIS_USERNAME or REDIS_PASSWORD_FILE', sentinel: 'REDIS_SENTINEL_PASSWORD' }

describe('an error of Redis', () => {
  // As Redis 6.2, Redis 7.0, a sentinel and OpenSSL word them.
  it.each([
    ['WRONGPASS invalid username-password pair or user is disabled.', /^Redis refuses .*correct REDIS_USERNAME or/],
    [
      'NOAUTH HELLO must be called with the client already authenticated',
      /^Redis requires a login: set REDIS_USERNAME/,
    ],
    ["NOPERM this user has no permissions to run the 'info' command or its subcommand", /give the user \+info;/],
    ["NOPERM this user has no permissions to run the 'cluster|slots' command", /give the user \+cluster\|slots;/],
    [
      'NOPERM this user has no permissions to access one of the keys used as arguments',
      /give the user access to the keys of the topic;/,
    ],
    [
      "ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -NOPERM The user executing the script can't run this command or subcommand",
      /give the user all rights of a script;/,
    ],
    [
      "ERR ACL failure in script: this user has no permissions to run the 'hget' command script: 1, on @user_script:9.",
      /give the user \+hget;/,
    ],
    [
      'All sentinels are unreachable. Retrying from scratch after 50ms. Last error: NOAUTH Authentication required.',
      /^a sentinel requires a login: set REDIS_SENTINEL_PASSWORD/,
    ],
    ['unable to verify the first certificate', /REDIS_CA_FILE must name its authority/],
    ["Hostname/IP does not match certificate's altnames: IP: 10.0.0.1 is not in the cert's list", /a name that it has/],
    ['ssl3_read_bytes:tlsv13 alert certificate required', /set REDIS_CERT_FILE and REDIS_KEY_FILE/],
    ['ssl3_get_record:wrong version number', /does not use TLS at this port/],
  ])('is explained with its fix: %s', (message, explanation) => {
    expect(explainRedisError(message, LOGIN)).toMatch(explanation)
    expect(explainRedisError(message, LOGIN)).toContain(message)
  })

  it.each(['connect ECONNREFUSED 127.0.0.1:6379', 'READONLY You can’t write', 'Connection is closed.'])(
    'needs no explanation when nobody has to change a setting: %s',
    (message) => expect(explainRedisError(message, LOGIN)).toBeUndefined(),
  )
})
