import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runProgram } from '../../local/processes/failure.mjs'
import { killLivingGroups } from '../../local/processes/process.ts'
import { endWithProcess } from '../support/end-with-process.ts'
import { numberOf } from '../support/number-option.ts'
import { helpOf } from '../support/readme-help.ts'
import { checkOut } from './former.ts'
import { run } from './run.ts'

const DEFAULT_MINUTES = 10
const MAX_MINUTES = 600
const MINUTES_FOR_A_BUG = 1
const MAX_SEED = 100_000
const MAX_RUNS = 1_000
const DEFAULT_RATE = 40
const MAX_RATE = 1_000
const MAX_SECONDS = 3_600

/** Injected bugs of the simulation that the judge catches in real processes, and a fault that shows each soon. */
const BUGS_TO_CATCH: readonly (readonly [bug: string, fault: string])[] = [
  ['the verdict is always created', 'api: kill -9'],
  ['the verdict is always a duplicate', 'api: kill -9'],
  ['the last claim wins in the window', 'projector: paused'],
  ['the acknowledgement decides', 'api: kill -9'],
  ['the entry in Redis is ignored', 'projector: kill -9'],
  ["the client's token is ignored", 'projector: paused'],
  ["every create at its deadline is 'not written'", 'two brokers: kill -9'],
  ['a chunk omits its first record', 'redis: FLUSHALL'],
  ['a list starts again where Redis ends', 'projector: paused'],
  ['a list omits the first plant after Redis', 'projector: paused'],
]

endWithProcess(killLivingGroups)
await runProgram(main, helpOf(new URL('README.md', import.meta.url)), 2)

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      runs: { type: 'string', default: '1' },
      experiments: { type: 'string' },
      'hold-s': { type: 'string' },
      'rest-s': { type: 'string' },
      rate: { type: 'string', default: String(DEFAULT_RATE) },
      fault: { type: 'string', multiple: true },
      redis: { type: 'string', default: 'sentinels' },
      former: { type: 'string' },
      bugs: { type: 'boolean' },
    },
  })
  const firstSeed = numberOf('seed', values.seed ?? String(randomInt(1, MAX_SEED)), MAX_SEED)
  if (values.bugs) return hunt(firstSeed, positionals[0] ?? '')
  const experiments = values.experiments === undefined ? undefined : experimentsOf(values.experiments)
  const untilEnd = experiments === undefined ? DEFAULT_MINUTES : MAX_MINUTES
  const minutes = numberOf('minutes', values.minutes ?? String(untilEnd), MAX_MINUTES)
  const count = numberOf('runs', values.runs, MAX_RUNS)
  const rate = numberOf('rate', values.rate, MAX_RATE)
  const [holdMs, restMs] = (['hold-s', 'rest-s'] as const).map((name) => {
    const text = values[name]
    return text === undefined ? undefined : 1_000 * numberOf(name, text, MAX_SECONDS)
  })
  const { redis } = values
  if (redis !== 'sentinels' && redis !== 'cluster') throw new Error(`--redis ${redis}: expected sentinels or cluster`)
  const former = values.former === undefined ? undefined : await checkOut(values.former)
  const sum = { experiments: 0, requests: 0, violations: 0 }
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    console.log(`Seed ${seed}`)
    const options = { seed, minutes, redis, experiments, kinds: values.fault, holdMs, restMs, rate, former } as const
    const played = await run({ ...options, say: console.log })
    sum.experiments += played.experiments
    sum.requests += played.requests
    sum.violations += played.violations.length
    for (const violation of played.violations) console.log(`  VIOLATION ${violation}`)
    if (played.violations.length > 0) console.log(`  See ${played.dir}`)
    else rmSync(played.dir, { recursive: true, force: true, maxRetries: 10 })
    console.log(`${sum.experiments} experiments, ${sum.requests} requests, ${sum.violations} violations`)
  }
  return sum.violations > 0 ? 1 : 0
}

function experimentsOf(text: string): readonly [from: number, to: number] {
  const [, from, to = from] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(text) ?? []
  if (from === undefined || Number(to) < Number(from))
    throw new Error(`--experiments ${text}: expected a number, or two as in 3-4`)
  return [Number(from), Number(to)]
}

/** Injects each bug in a separate run; all must be caught. */
async function hunt(seed: number, part: string): Promise<number> {
  const bugs = BUGS_TO_CATCH.filter(([name]) => name.includes(part))
  if (bugs.length === 0) throw new Error(`none of the injected bugs has "${part}" in its name`)
  let caught = 0
  for (const [bug, fault] of bugs) {
    const chosen = { minutes: MINUTES_FOR_A_BUG, redis: 'sentinels', rate: DEFAULT_RATE, kinds: [fault], bug } as const
    const { judged } = await run({ seed, ...chosen, say: () => {} })
    if (judged.length > 0) caught++
    console.log(`${bug} (${fault}): ${judged[0]?.split(': {')[0]?.slice(0, 80) ?? 'MISSED'}`)
  }
  console.log(`${caught} of ${bugs.length} caught`)
  return caught === bugs.length ? 0 : 1
}
