import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { runCommand } from '../../../local/processes/command.mjs'
import { pick } from '../../simulation/random.ts'
import { type Cluster, TOPIC } from '../cluster.ts'
import type { Member } from '../member.ts'
import { COMMAND_TIMEOUT_MS, type Draw, every, killed } from './fault.ts'

const UNLIMITED = 'unlimited'

export const BROKER_FAULTS: readonly Draw[] = [
  // Creates go to all partitions all the time, so it acknowledges some when it dies.
  (cluster, random) => {
    const { brokers } = cluster
    const partition = random.below(TOPIC.partitions)
    return {
      ...{ kind: 'leader: kill -9', targets: [`of partition ${partition}`, ...brokers.map(({ name }) => name)] },
      inject: async () => void (await (await leaderOf(partition, cluster)).kill()),
      heal: () => every(brokers, (broker) => broker.start()),
    }
  },
  ({ brokers }, random) => {
    const left = pick(brokers, random)
    return killed(
      'two brokers: kill -9',
      brokers.filter((broker) => broker !== left),
    )
  },
  ({ brokers }) => ({
    ...{ kind: 'brokers: rolling restart', targets: brokers.map(({ name }) => name) },
    async inject() {
      for (const broker of brokers) await broker.restart('SIGTERM')
    },
  }),
  ({ brokers }, random) => {
    const broker = pick(brokers, random)
    return {
      ...{ kind: 'broker: disk full', targets: [broker.name] },
      // No file may grow any more. The broker gives up its data directory, and with it itself.
      inject: () => limitFileSize(broker, '0'),
      async heal() {
        await limitFileSize(broker, UNLIMITED)
        await broker.restart('SIGKILL')
      },
    }
  },
]

async function leaderOf(partition: number, { admin, brokers }: Cluster): Promise<Member> {
  const { topics } = await withAdmin(admin, (admin) => admin.fetchTopicMetadata({ topics: [TOPIC.topic] }))
  const leader = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition)?.leader
  const broker = brokers.find(({ name }) => name === `kafka-${leader}`)
  if (broker === undefined) throw new Error(`partition ${partition} has no leader`)
  return broker
}

async function limitFileSize(member: Member, bytes: string): Promise<void> {
  const pid = member.pid()
  if (pid === undefined) return
  const { code, output, missing } = await runCommand(
    'prlimit',
    ['--pid', String(pid), `--fsize=${bytes}:${UNLIMITED}`],
    { timeoutMs: COMMAND_TIMEOUT_MS },
  )
  if (missing) throw new Error('prlimit not found: install util-linux')
  // It may have ended in the meantime.
  if (code !== 0 && member.pid() === pid) throw new Error(`prlimit: ${output}`)
}
