import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cacheDir } from '../../local/places.mjs'
import { Failure, runProgram } from '../../local/processes/failure.mjs'
import { numberOf } from '../support/number-option.ts'
import { helpOf } from '../support/readme-help.ts'
import { readCorpus, writeCorpus } from './corpus.ts'

const MAX_MINUTES = 600
const MAX_INPUT_BYTES = 4_096
const MAX_MEMORY_MIB = 4_096
const MAX_INPUT_MS = 5_000
const JAZZER = fileURLToPath(new URL('node_modules/@jazzer.js/core/dist/cli.js', import.meta.url))
const ENTRY = fileURLToPath(new URL('targets.mjs', import.meta.url))
const REGISTER = new URL('register.mjs', import.meta.url).href
const TARGETS = readdirSync(new URL('corpus', import.meta.url)).map((file) => file.replace('.jsonl', ''))
/** A line of libFuzzer: the number of inputs, what happened, and the covered code. */
const PROGRESS = /^#(\d+)\t(\w+) .*?cov: (\d+)/

await runProgram(main, helpOf(new URL('README.md', import.meta.url)), 2)

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      target: { type: 'string' },
      keep: { type: 'boolean' },
    },
  })
  const minutes = numberOf('minutes', values.minutes, MAX_MINUTES)
  const targets = TARGETS.filter((target) => values.target === undefined || target === values.target)
  if (targets.length === 0) throw new Failure(`--target ${values.target}: expected one of ${TARGETS.join(', ')}`)
  assertFuzzerLoads()
  let failed = 0
  console.log('| target | inputs | covered | corpus | result |\n|---|---:|---:|---:|---|')
  for (const target of targets) {
    const { inputs, covered, corpus, finding } = await fuzz(target, minutes)
    console.log(`| ${target} | ${inputs} | ${covered} | ${corpus.length} | ${finding ?? 'no failure'} |`)
    if (finding !== undefined) failed++
    else if (values.keep) writeCorpus(target, corpus)
  }
  return failed === 0 ? 0 : 1
}

/** The fuzzer's native part is built for glibc 2.38 and newer (Debian 13, Ubuntu 24.04). */
function assertFuzzerLoads(): void {
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  const [major = 0, minor = 0] = (header.glibcVersionRuntime ?? '3.0').split('.').map(Number)
  if (major * 1_000 + minor < 2_038)
    throw new Failure(
      `Jazzer.js needs glibc 2.38, and this system has ${header.glibcVersionRuntime}. Run it on Debian 13, Ubuntu 24.04 ` +
        'or newer. "npm run test:unit tests/fuzz" runs the targets with mutations of the corpus on any system.',
    )
}

async function fuzz(target: string, minutes: number) {
  const dir = join(cacheDir, 'fuzz', target)
  const corpusDir = join(dir, 'corpus')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(corpusDir, { recursive: true })
  for (const input of readCorpus(target)) writeFileSync(join(corpusDir, hash('sha1', input)), input)
  const log = createWriteStream(join(dir, 'log'))
  const child = spawn(
    process.execPath,
    // Jazzer.js uses a function that Node has deprecated.
    ['--disable-warning=DEP0205', '--import', REGISTER, JAZZER, ENTRY, '-f', target, '--timeout', `${MAX_INPUT_MS}`]
      .concat([corpusDir, '--', `-max_total_time=${minutes * 60}`, `-max_len=${MAX_INPUT_BYTES}`])
      .concat([`-rss_limit_mb=${MAX_MEMORY_MIB}`, `-artifact_prefix=${dir}/failed-`]),
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = once(child, 'exit')
  let inputs = 0
  let covered = 0
  for await (const line of createInterface({ input: child.stderr })) {
    log.write(`${line}\n`)
    const [, number, , coverage] = PROGRESS.exec(line) ?? []
    inputs = Number(number ?? inputs)
    covered = Number(coverage ?? covered)
  }
  log.end()
  const [code] = await exited
  const corpus = readdirSync(corpusDir).map((file) => readFileSync(join(corpusDir, file)))
  return { inputs, covered, corpus, finding: code === 0 ? undefined : `FAILED, see ${dir}` }
}
