import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { Failure, runProgram } from '../../local/processes/failure.mjs'
import { numberOf } from '../support/number-option.ts'
import { helpOf } from '../support/readme-help.ts'
import { FIRST_SEED, type InjectedBug, injectBug } from './injected-bug.ts'
import { INJECTED_BUGS } from './injected-bugs.ts'
import { inParallel, playAll, playApart } from './threads.ts'

const MAX_SEED = 999_999_999
const DEFAULT_SEEDS = 10_000
const DEFAULT_SEEDS_FOR_BUGS = 60_000
let shownAt = 0

await runProgram(main, helpOf(new URL('README.md', import.meta.url)), 2)

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      bugs: { type: 'boolean' },
    },
  })
  const [from, seeds, seed] = (['from', 'seeds', 'seed'] as const).map((name) => {
    const text = values[name]
    return text === undefined ? undefined : numberOf(name, text, MAX_SEED)
  })
  if (seed !== undefined) {
    if (values.bugs) injectBug(bugsNamed(positionals[0] ?? '')[0] as InjectedBug)
    return replay(seed)
  }
  if (values.bugs) {
    return hunt(from, seeds ?? DEFAULT_SEEDS_FOR_BUGS, positionals[0] ?? '')
  }
  return search(from ?? randomInt(MAX_SEED >> 1), seeds ?? DEFAULT_SEEDS)
}

async function search(from: number, count: number): Promise<number> {
  const startedAt = performance.now()
  console.log(`Seeds ${from} to ${from + count - 1}`)
  const found = await playAll(from, count, (played) => showProgress(played, count, startedAt))
  const seconds = (performance.now() - startedAt) / 1000
  const played = found.reduce((sum, each) => sum + each.played, 0)
  console.log(`${played} schedules in ${seconds.toFixed(1)} s, ${Math.round(played / seconds)} a second`)
  const broken = found.filter(({ seed }) => seed !== undefined)
  for (const { seed, broken: guarantee } of broken) {
    console.log(`BROKEN by seed ${seed}: ${guarantee}\n  npm run simulate -- --seed ${seed}`)
  }
  if (broken.length === 0) console.log('Every guarantee was kept.')
  return broken.length === 0 ? 0 : 1
}

function showProgress(played: number, count: number, startedAt: number): void {
  const now = performance.now()
  const everyMs = process.stdout.isTTY ? 200 : 10_000
  if (now - Math.max(shownAt, startedAt) < everyMs) return
  shownAt = now
  const line = `  ${played} of ${count}, ${Math.round((played / (now - startedAt)) * 1000)} a second`
  if (process.stdout.isTTY) process.stdout.write(`\r${line}\x1b[K\r`)
  else console.log(line)
}

async function replay(seed: number): Promise<number> {
  const { play, scheduleOf, shrink } = await import('./play.ts')
  const schedule = scheduleOf(seed)
  const { broken } = await play(schedule)
  const shown = broken === undefined ? schedule : await shrink(schedule)
  const { lines } = await play(shown, true)
  for (const line of lines) console.log(line)
  if (broken === undefined) console.log(`\nSeed ${seed} keeps every guarantee.`)
  else
    console.log(
      `\nSeed ${seed} BREAKS a guarantee: ${broken}\nShrunk from ${schedule.steps.length} steps to ${shown.steps.length}.`,
    )
  return broken === undefined ? 0 : 1
}

function bugsNamed(part: string): InjectedBug[] {
  const bugs = INJECTED_BUGS.filter(({ name }) => name.includes(part))
  if (bugs.length === 0) throw new Failure(`no injected bug has "${part}" in its name`)
  return bugs
}

async function hunt(from: number | undefined, maxSeeds: number, part: string): Promise<number> {
  const bugs = bugsNamed(part)
  let missed = 0
  console.log(
    `${bugs.length} bugs, each from seed ${from ?? `${FIRST_SEED}, or the bug's own first seed,`} on\n\n| injected bug | seeds | caught by |\n|---|---|---|`,
  )
  await inParallel(bugs, async (bug) => {
    const first = from ?? bug.firstSeed ?? FIRST_SEED
    const { seed, broken } = await playApart({ from: first, count: maxSeeds, bug })
    if (broken === undefined) missed++
    console.log(`| ${bug.name} | ${seed ?? ''} | ${broken?.split(':')[0] ?? 'MISSED'} |`)
  })
  console.log(`\n${bugs.length - missed} of ${bugs.length} caught`)
  return missed === 0 ? 0 : 1
}
