import { existsSync, linkSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from './failure.mjs'
import { identify } from './process-identity.ts'
import { writeWhole } from './whole-file.ts'

/**
 * Takes a lock unless it is held. Its file is the one of FILE.1, FILE.2, … with the highest number. Only a holder with a
 * higher number deletes a file: after a look at an abandoned lock, another process may have taken it.
 *
 * `text` of the new holder is not empty; `isHeld` is called with the text of the last one, '' when it has released the
 * lock.
 */
export function take(file: string, text: string, isHeld: (text: string) => boolean) {
  while (true) {
    const numbers = numbersOf(file)
    const texts = numbers.map((number) => read(`${file}.${number}`))
    if (isHeld(texts.at(-1) ?? '')) return undefined
    const number = (numbers.at(-1) ?? 0) + 1
    const own = `${file}.${number}`
    if (!create(own, text)) continue
    if (numbersOf(file).at(-1) !== number) {
      // Several processes have had the lock since it was looked at.
      rmSync(own, { force: true })
      continue
    }
    const forgetEarlier = () => {
      for (const earlier of numbers) rmSync(`${file}.${earlier}`, { force: true })
    }
    return {
      /** Texts of holders that have ended without a release. */
      earlier: texts.filter((earlier) => earlier !== ''),
      forgetEarlier,
      write: (text: string) => writeWhole(own, text),
      release() {
        forgetEarlier()
        writeWhole(own, '')
      },
    }
  }
}

function numbersOf(file: string): number[] {
  const start = `${basename(file)}.`
  const names = existsSync(dirname(file)) ? readdirSync(dirname(file)) : []
  const ends = names.filter((name) => name.startsWith(start)).map((name) => name.slice(start.length))
  return ends
    .filter((end) => /^\d+$/.test(end))
    .map(Number)
    .sort((a, b) => a - b)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Creates a file with its text in it; of several that try at once one succeeds, for the others it is there already. */
function create(file: string, text: string): boolean {
  try {
    writeWhole(file, text, { publish: linkSync })
    return true
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && syscall === 'link') return false
    throw error
  }
}

/**
 * Runs work that only one process at a time may do; the others wait, until `signal` ends that. A lock is ignored when
 * all its holders have ended. The work names a program that does it, because that continues when this process is killed.
 */
export async function withLock<T>(
  file: string,
  { waitTimeoutMs, signal }: { waitTimeoutMs: number; signal?: AbortSignal | undefined },
  work: (alsoHeldBy: (pid: number) => void) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + waitTimeoutMs
  const own = holder(process.pid)
  let lock = take(file, own, isHeld)
  for (; lock === undefined; lock = take(file, own, isHeld)) {
    signal?.throwIfAborted()
    if (performance.now() > deadline) throw new Failure(`Another process holds the lock ${file}: wait for its end.`)
    await delay(100)
  }
  const { write, release } = lock
  try {
    return await work((pid) => write(own + holder(pid)))
  } finally {
    release()
  }
}

const holder = (pid: number) => `${pid} ${identify(pid)}\n`

const isHeld = (text: string) =>
  text.split('\n').some((line) => {
    const [pid, ...identity] = line.split(' ')
    return pid !== '' && identify(Number(pid)) === identity.join(' ')
  })
