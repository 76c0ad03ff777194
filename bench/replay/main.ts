import { numberOf } from '../../tests/support/number-option.ts'
import { runCommand, withStores } from '../command.ts'
import { machine } from '../environment.ts'
import { knownOptions } from '../known-options.ts'
import { median } from '../measure/spread.ts'
import { openBenchStores } from '../stores.ts'
import { compareReaders, type ReplayOptions, type ReplayRun, type ReplayRuns, rate } from './compare.ts'
import type { ReaderName } from './readers.ts'

const help = `Measures how fast the log is replayed into Redis, against a kafkajs consumer that does nothing, and how much
memory the read model takes. All readers read the same topic, each in a process of its own, in turn.

  npm run bench:replay                          1,000,000 events in 12 partitions, 3 rounds
  npm run bench:replay -- --events 100000       this many events
  npm run bench:replay -- --partitions 6        in this many partitions
  npm run bench:replay -- --rounds 5            this many rounds

It starts a Kafka and a Redis of its own, as the tests do, unless KAFKA_BROKERS and REDIS_URL name others. There it
creates a topic of its own, and removes the topic and its keys at the end.
`
const MAX_EVENTS = 20_000_000
const MAX_PARTITIONS = 1_000
const MAX_ROUNDS = 20

await runCommand({
  help,
  readOptions,
  run: (options) =>
    withStores(openBenchStores(process.env), async (stores) => {
      const { runs, redisVersion } = await compareReaders(stores, options, console.log)
      const versions = `Node ${process.version}, Redis ${redisVersion}`
      console.log(`\n${machine()}; ${versions}; all of it on this machine\n\n${tableOf(runs, options.events)}`)
    }),
})

function readOptions(args: readonly string[]): ReplayOptions | undefined {
  const values = knownOptions(args, {
    events: { type: 'string', default: '1000000' },
    partitions: { type: 'string', default: '12' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', short: 'h' },
  })
  if (values.help) return undefined
  return {
    events: numberOf('events', values.events, MAX_EVENTS),
    partitions: numberOf('partitions', values.partitions, MAX_PARTITIONS),
    rounds: numberOf('rounds', values.rounds, MAX_ROUNDS),
  }
}

function tableOf(runs: ReplayRuns, events: number): string {
  const medianOf = (name: ReaderName, of: (run: ReplayRun) => number) => median((runs.get(name) ?? []).map(of))
  const names = [...runs.keys()]
  const base = medianOf(names[0] as ReaderName, ({ seconds }) => seconds)
  const perEvent = (seconds: number) => ((seconds / events) * 1e6).toFixed(1)
  const rows = names.map((name) => {
    const seconds = medianOf(name, (run) => run.seconds)
    const bytes = medianOf(name, (run) => run.redisBytes)
    const memory = bytes > events ? `${(bytes / events).toFixed(1)} MB` : ''
    const cpu = [medianOf(name, (run) => run.cpuSeconds), medianOf(name, (run) => run.redisCpuSeconds)]
    return [name, rate(events, seconds), (base / seconds).toFixed(2), ...cpu.map(perEvent), memory]
  })
  const head = ['', 'events/s', 'ratio', 'µs of CPU an event', 'of Redis', 'Redis per million plants']
  const lines = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
