import { TOPIC_NAME } from '@plant-store/shared/event-log/log-identity.ts'
import { PROGRAMS, type Program, type Right, rightsOf } from '@plant-store/shared/event-log/rights.ts'
import { tableOf } from '@plant-store/shared/stores/store-settings.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { readOptions, TEXT } from '../options.ts'

const PRINCIPAL = /^[A-Za-z]+:\S+$/
const help = `Prints the commands that give each program its least rights in Kafka. It connects to nothing.

  plantctl acl
  plantctl acl --topic plants --principal User:plants --command-config admin.properties

  --topic           the topic; without it, PLANTS_TOPIC or else plants
  --table           the topic of the table, on for the topic's name with .table, or off; without it, PLANTS_TABLE or off
  --principal       one user for all programs; without it, each has its own: User:plant-store-api,
                    User:plant-store-projector and so on for plantctl, setup, backup and restore
  --command-config  the file with the login of an administrator, for kafka-acls.sh

The setup creates the topics. Consumers need Read on the topic that they read, and on their own group.
`

export const acl: Command = {
  summary: 'prints the commands that give each program its rights in Kafka',
  help,
  async run(args, { env, print }) {
    const { values } = readOptions(args, { topic: TEXT, table: TEXT, principal: TEXT, 'command-config': TEXT })
    const { topic = env.PLANTS_TOPIC || 'plants', table: choice = env.PLANTS_TABLE || 'off', principal } = values
    if (!TOPIC_NAME.test(topic)) throw new UsageError(`--topic ${topic}: expected a Kafka topic name`)
    if (!TOPIC_NAME.test(choice)) throw new UsageError(`--table ${choice}: expected on, off or a Kafka topic name`)
    const table = tableOf({ PLANTS_TOPIC: topic, PLANTS_TABLE: choice })
    if (principal !== undefined && !PRINCIPAL.test(principal)) {
      throw new UsageError(`--principal ${principal}: expected a Kafka principal, such as User:plants`)
    }
    const config = values['command-config']
    const command = [
      `kafka-acls.sh --bootstrap-server ${env.KAFKA_BROKERS || 'localhost:9092'}`,
      ...(config === undefined ? [] : [`--command-config ${quoted(config)}`]),
    ].join(' ')
    const userOf = (program: Program) => quoted(principal ?? `User:plant-store-${program}`)
    const lines = PROGRAMS.flatMap((program) =>
      rightsOf(program, topic, table).map(
        (right) => `${command} --add --allow-principal ${userOf(program)} ${optionsOf(right)}\n`,
      ),
    )
    await print(lines.join(''))
    return EXIT.ok
  },
}

function optionsOf({ resource, name, pattern, operations }: Right): string {
  const all = operations.map((operation) => `--operation ${operation}`).join(' ')
  return `--${resource} ${quoted(name)} --resource-pattern-type ${pattern} ${all}`
}

/** As one word of a shell. */
const quoted = (text: string) => (/^[\w:./=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`)
