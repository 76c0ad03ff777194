import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runProgram } from '../../local/processes/failure.mjs'
import { killLivingGroups } from '../../local/processes/process.ts'
import { endWithProcess } from '../support/end-with-process.ts'
import { numberOf } from '../support/number-option.ts'
import { helpOf } from '../support/readme-help.ts'
import { BUGS_TO_CATCH } from './bugs-to-catch.ts'
import { checkOut } from './former.ts'
import { reportOf, type Summary, summaryOf } from './report.ts'
import { run } from './run.ts'
import type { RunOptions } from './run-options.ts'

const DEFAULT_MINUTES = '10'
const DEFAULT_RATE = '40'
const MAX_RATE = 1_000
const MAX_SECONDS = 3_600
const MAX_MINUTES = 600
const MINUTES_FOR_A_BUG = 1
const MAX_SEED = 100_000
const MAX_RUNS = 1_000
const EXPERIMENTS = /^(\d{1,4})(?:-(\d{1,4}))?$/

endWithProcess(killLivingGroups)
await runProgram(main, helpOf(new URL('README.md', import.meta.url)), 2)

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string' },
      seed: { type: 'string' },
      runs: { type: 'string' },
      experiments: { type: 'string' },
      'hold-s': { type: 'string' },
      'rest-s': { type: 'string' },
      rate: { type: 'string', default: DEFAULT_RATE },
      fault: { type: 'string', multiple: true },
      redis: { type: 'string', default: 'sentinels' },
      former: { type: 'string' },
      bugs: { type: 'boolean' },
    },
  })
  const untilEnd = values.experiments === undefined ? DEFAULT_MINUTES : String(MAX_MINUTES)
  const minutes = numberOf('minutes', values.minutes ?? untilEnd, MAX_MINUTES)
  const firstSeed = numberOf('seed', values.seed ?? String(randomInt(1, MAX_SEED)), MAX_SEED)
  const count = numberOf('runs', values.runs ?? '1', MAX_RUNS)
  const experiments = values.experiments === undefined ? undefined : experimentsOf(values.experiments)
  const redis = redisKindOf(values.redis)
  const rate = numberOf('rate', values.rate, MAX_RATE)
  const [holdMs, restMs] = (['hold-s', 'rest-s'] as const).map((name) => {
    const text = values[name]
    return text === undefined ? undefined : 1_000 * numberOf(name, text, MAX_SECONDS)
  })
  if (values.bugs) return hunt(firstSeed, rate, positionals[0] ?? '')
  const former = values.former === undefined ? undefined : await checkOut(values.former)
  const runs: Summary[] = []
  try {
    for (let seed = firstSeed; seed < firstSeed + count; seed++) {
      console.log(`Seed ${seed}`)
      const chosen = { experiments, kinds: values.fault, holdMs, restMs, rate, former }
      const played = await run({ ...{ seed, minutes, redis, say: console.log }, ...chosen })
      runs.push(summaryOf(played))
      for (const violation of played.violations) console.log(`  VIOLATION ${violation}`)
      if (played.violations.length > 0) console.log(`  See ${played.dir}`)
      else rmSync(played.dir, { recursive: true, force: true, maxRetries: 10 })
    }
  } finally {
    // Reports the runs before a failed start, too.
    if (runs.length > 0) process.stdout.write(reportOf(runs))
  }
  return runs.some(({ violations }) => violations.length > 0) ? 1 : 0
}

function redisKindOf(text: string): RunOptions['redis'] {
  if (text !== 'sentinels' && text !== 'cluster') throw new Error(`--redis ${text}: expected sentinels or cluster`)
  return text
}

function experimentsOf(text: string): readonly [from: number, to: number] {
  const [, from, to = from] = EXPERIMENTS.exec(text) ?? []
  if (from === undefined || Number(to) < Number(from))
    throw new Error(`--experiments ${text}: expected a number, or two as in 3-4`)
  return [Number(from), Number(to)]
}

/** Injects each bug in a separate run; all must be caught. */
async function hunt(seed: number, rate: number, part: string): Promise<number> {
  const bugs = BUGS_TO_CATCH.filter(([name]) => name.includes(part))
  if (bugs.length === 0) throw new Error(`none of the injected bugs has "${part}" in its name`)
  let missed = 0
  console.log('| injected bug | fault | seconds | caught by |\n|---|---|---:|---|')
  for (const [bug, fault] of bugs) {
    const startedAt = performance.now()
    const { judged } = await run({
      ...{ seed, rate },
      minutes: MINUTES_FOR_A_BUG,
      redis: 'sentinels',
      kinds: [fault],
      bug,
      say: () => {},
    })
    if (judged.length === 0) missed++
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`| ${bug} | ${fault} | ${seconds} | ${judged[0]?.split(': {')[0]?.slice(0, 80) ?? 'MISSED'} |`)
  }
  console.log(`\n${bugs.length - missed} of ${bugs.length} caught`)
  return missed === 0 ? 0 : 1
}
