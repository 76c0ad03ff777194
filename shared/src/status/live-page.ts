import { readFileSync } from 'node:fs'
import type { HttpResponse } from '../runtime/http-response.ts'
import type { Log } from '../runtime/log.ts'
import type { OperationsParts, Readiness } from '../runtime/operations.ts'
import { repeat } from '../runtime/retry.ts'
import { systemTime } from '../runtime/time.ts'
import { createLatest, type Latest } from './latest.ts'
import { readStatus, type StatusSource } from './read-status.ts'
import { statusJson } from './status-json.ts'

const SAMPLE_EVERY_MS = 1_000
/** The samples of the last 15 minutes. */
const MAX_SAMPLES = 15 * 60

const FILES = [
  { path: '/', file: import.meta.resolve('./page/page.html'), type: 'text/html' },
  { path: '/page.css', file: import.meta.resolve('./page/page.css'), type: 'text/css' },
  { path: '/page.js', file: import.meta.resolve('./page/page.js'), type: 'text/javascript' },
  { path: '/uplot.css', file: import.meta.resolve('uplot/dist/uPlot.min.css'), type: 'text/css' },
  { path: '/uplot.js', file: import.meta.resolve('uplot/dist/uPlot.iife.min.js'), type: 'text/javascript' },
]

const HEADERS = {
  // The page loads everything from this port, runs no inline script, sends nothing, and cannot be framed.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
}

/** A value of one second, by the name of its chart; null where there is none, such as a latency without requests. */
export type Sample = Record<string, number | null>

type Options = { service: string; version: string; readiness: Readiness; log: Log }

/**
 * The page of an operations port: its files, and what it shows as JSON at `/live`. It is read-only and has no names of
 * plants and no tokens. The state of the stores is read only when a page asks for it.
 */
export function createLivePage({ service, version, readiness, log }: Options) {
  const startedAt = Date.now()
  /** The oldest first, with times in milliseconds since 1970. */
  const samples: (Sample & { time: number })[] = []
  let statusOf: () => Promise<Latest<object>> = async () => ({})

  async function live(query: URLSearchParams): Promise<HttpResponse> {
    const reasons = readiness()
    const now = Date.now()
    const since = Number(query.get('since') ?? 0)
    const body = {
      ...{ service, version, startedAt, now, ready: reasons.length === 0, reasons },
      status: await statusOf(),
      // The page may have samples of a later time, from before the clock was set back.
      samples: samples.filter(({ time }) => time > (since > now ? 0 : since)),
    }
    return { status: 200, headers: { ...HEADERS, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  }

  function add(sample: Sample): void {
    const time = Date.now()
    // The clock may have been set back.
    while ((samples.at(-1)?.time ?? -Infinity) >= time) samples.pop()
    samples.push({ time, ...sample })
    if (samples.length > MAX_SAMPLES) samples.shift()
  }

  const files = FILES.map(({ path, file, type }) => {
    const headers = { ...HEADERS, 'content-type': `${type}; charset=utf-8` }
    const response = { status: 200, headers, body: readFileSync(new URL(file), 'utf8') }
    return [path, async () => response] as const
  })

  return {
    pages: new Map([...files, ['/live', live] as const]) satisfies OperationsParts['pages'],

    /** From now on the page shows the state of the stores that `open` returns; the first view of the page calls it. */
    showStores(open: () => StatusSource): void {
      let stores: StatusSource | undefined
      statusOf = createLatest(async () => {
        stores ??= open()
        return statusJson(await readStatus(stores))
      })
    },

    /** From now on the charts show these samples, one a second. `close` ends that. */
    showSamples(sample: () => Sample): { close(): Promise<void> } {
      return repeat({
        ...{ time: systemTime, everyMs: SAMPLE_EVERY_MS, what: 'sampling', log },
        task: async () => add(sample()),
        onHalt() {},
      })
    },
  }
}
