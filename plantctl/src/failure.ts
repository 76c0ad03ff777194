const OF_REDIS = /^(ReplyError|MaxRetriesPerRequestError)$/
/** Errors of its client that have no name of their own. */
const SAID_BY_REDIS_CLIENT = /^(Command timed out|Connection is closed|Stream isn't writeable)/

/** Why a run failed. What the clients of Kafka and Redis throw says neither of whom it is, nor what to do. */
export function failureInWords({ name, message }: Error): string {
  if (name.startsWith('KafkaJS')) return failing('Kafka', message)
  if (OF_REDIS.test(name) || SAID_BY_REDIS_CLIENT.test(message)) return failing('Redis', message)
  return message
}

function failing(who: string, message: string): string {
  return `${who} fails: ${message.replace(/\.$/, '')}. See whether it runs, and then run this again`
}
