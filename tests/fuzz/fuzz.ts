import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
/** The last line of libFuzzer: the number of inputs, and the covered code. */
const DONE = /^#\d+\tDONE .*/m

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
  for (const target of targets) if (!(await fuzz(target, minutes, values.keep))) failed++
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

/** True if nothing failed. Prints the figures. */
async function fuzz(target: string, minutes: number, keep = false): Promise<boolean> {
  const dir = join(cacheDir, 'fuzz', target)
  const corpusDir = join(dir, 'corpus')
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(corpusDir, { recursive: true })
  for (const input of readCorpus(target)) writeFileSync(join(corpusDir, hash('sha1', input)), input)
  const logFile = join(dir, 'log')
  const child = spawn(
    process.execPath,
    // Jazzer.js uses a function that Node has deprecated.
    ['--disable-warning=DEP0205', '--import', REGISTER, JAZZER, ENTRY, '-f', target, '--timeout', `${MAX_INPUT_MS}`]
      .concat([corpusDir, '--', `-max_total_time=${minutes * 60}`, `-max_len=${MAX_INPUT_BYTES}`])
      .concat([`-rss_limit_mb=${MAX_MEMORY_MIB}`, `-artifact_prefix=${dir}/failed-`]),
    { stdio: ['ignore', 'ignore', openSync(logFile, 'w')] },
  )
  const [code] = await once(child, 'exit')
  const isFine = code === 0
  const [figures = 'no failure'] = readFileSync(logFile, 'utf8').match(DONE) ?? []
  console.log(`${target}: ${isFine ? figures : `FAILED, see ${dir}`}`)
  if (isFine && keep)
    writeCorpus(
      target,
      readdirSync(corpusDir).map((file) => readFileSync(join(corpusDir, file))),
    )
  return isFine
}
