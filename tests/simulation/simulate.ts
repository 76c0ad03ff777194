import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Failure, runProgram } from '../../local/processes/failure.mjs'
import { numberOf } from '../support/number-option.ts'
import { helpOf } from '../support/readme-help.ts'
import { type InjectedBug, injectBug, SEEDS_FILE } from './injected-bug.ts'
import { INJECTED_BUGS } from './injected-bugs.ts'
import { inParallel, playAll, playApart } from './threads.ts'

const MAX_SEED = 999_999_999
const DEFAULT_SEEDS = 10_000
const DEFAULT_SEEDS_FOR_BUGS = 60_000
/** A bug that so many seeds do not catch is rare. */
const RARE = 20
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
      record: { type: 'boolean' },
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
    const found = await hunt(from, seeds ?? DEFAULT_SEEDS_FOR_BUGS, bugsNamed(positionals[0] ?? ''))
    if (values.record) record(found)
    return [...found.values()].includes(undefined) ? 1 : 0
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
  const [{ play, shrink }, { scheduleOf }] = await Promise.all([import('./play.ts'), import('./schedule.ts')])
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

/** The seed that catches each bug, by name; undefined for one that is missed. */
async function hunt(from: number | undefined, maxSeeds: number, bugs: readonly InjectedBug[]) {
  const found = new Map<string, number | undefined>()
  console.log(`${bugs.length} bugs, each from seed ${from ?? '1, or its own first seed,'} on\n`)
  console.log('| injected bug | seeds | caught by |\n|---|---|---|')
  await inParallel(bugs, async (bug) => {
    const { seed, broken } = await playApart({ from: from ?? bug.firstSeed, count: maxSeeds, bug })
    found.set(bug.name, seed)
    console.log(`| ${bug.name} | ${seed ?? ''} | ${broken?.split(':')[0] ?? 'MISSED'} |`)
  })
  console.log(`\n${[...found.values()].filter(Boolean).length} of ${bugs.length} caught`)
  return found
}

/** Keeps the seeds that catch rare bugs. */
function record(found: ReadonlyMap<string, number | undefined>): void {
  const seeds = INJECTED_BUGS.map(({ name, firstSeed }) => [name, found.get(name) ?? firstSeed] as const)
  const rare = Object.fromEntries(seeds.filter(([, seed]) => seed > RARE))
  writeFileSync(SEEDS_FILE, `${JSON.stringify(rare, null, 2)}\n`)
}
