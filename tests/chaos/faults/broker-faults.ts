import { runCommand } from '../../../local/processes/command.mjs'
import { pick } from '../../simulation/random.ts'
import type { Member } from '../member.ts'
import { COMMAND_TIMEOUT_MS, type Draw, killed } from './fault.ts'

const UNLIMITED = 'unlimited'

export const BROKER_FAULTS: readonly Draw[] = [
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
