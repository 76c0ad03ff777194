import { runCommand } from '../../../local/processes/command.ts'
import { pick } from '../../simulation/random.ts'
import { CONTINUES_WITHIN_MS } from '../liveness.ts'
import type { Member } from '../member.ts'
import { COMMAND_TIMEOUT_MS, type Draw, killed } from './fault.ts'

const UNLIMITED = 'unlimited'
/** With another broker away there is no majority. */
const ONE_AFTER_THE_OTHER = 'kafka-each'

export const BROKER_FAULTS: readonly Draw[] = [
  ({ brokers }, random) => {
    const left = pick(brokers, random)
    const two = brokers.filter((broker) => broker !== left)
    const effects = [{ of: 'create' as const, servers: two.map(({ name }) => name) }]
    return { kind: 'two brokers: kill -9', ...killed(two), effects }
  },
  ({ brokers }) => ({
    ...{ kind: 'brokers: rolling restart', targets: brokers.map(({ name }) => name) },
    effects: [{ of: 'create', servers: [ONE_AFTER_THE_OTHER], gapMs: CONTINUES_WITHIN_MS }],
    async inject() {
      for (const broker of brokers) await broker.restart('SIGTERM')
    },
  }),
  ({ brokers }, random) => {
    const broker = pick(brokers, random)
    return {
      ...{ kind: 'broker: disk full', targets: [broker.name] },
      // It ends at its next write, is started again, and is killed once more.
      effects: [{ of: 'create', servers: [broker.name], gapMs: CONTINUES_WITHIN_MS }],
      // No file may grow any more. The broker gives up its data directory, and with it itself.
      inject: () => limitFileSize(broker, '0'),
      async heal() {
        await limitFileSize(broker, UNLIMITED)
        await broker.restart('SIGKILL')
      },
    }
  },
]

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
