import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argumentsOf } from '../../local/launch/service.ts'
import { digestOf } from '../../local/launch/token.ts'
import { freePort } from '../../local/processes/port.ts'
import { startProcess } from '../../local/processes/process.ts'
import type { ConsumerTask } from '../support/consumer-process.ts'
import { createMember, type MemberOptions } from './member.ts'
import type { Toxiproxy } from './toxiproxy.ts'

export const TOKEN = 'a-token-for-chaos'
export const APIS = ['api-1', 'api-2']
export const PROJECTORS = ['projector-1', 'projector-2']
/** They share their links to Kafka. */
export const CONSUMERS = 'consumers'
const FIRST_CLAIMS = ['memory', 'file'] as const
const CONSUMER_PROGRAM = new URL('../support/consumer-process.ts', import.meta.url).pathname
const INJECT_BUG = new URL('inject-bug.ts', import.meta.url).pathname
const CLOCK = new URL('clock.ts', import.meta.url).pathname

export type Variant = {
  /** The means by which Redis fails over. */
  redis: 'sentinels' | 'cluster'
  /** The name of an injected bug that api, projector and consumers have. */
  bug?: string | undefined
  /** The folder of another release, which the services start with. */
  former?: string | undefined
}

type ServiceOptions = Pick<MemberOptions, 'onUnexpectedEnd' | 'endsBySigterm'> & {
  dataDir: string
  logDir: string
  /** Settings of all programs, without the way to Kafka. */
  settings: Record<string, string>
  /** By the name of the client. */
  brokersOf(client: string): string
  topic: string
} & Pick<Variant, 'bug' | 'former'>

export type Api = Awaited<ReturnType<typeof createApis>>[number]

/** Apis that their clients reach by links. */
export const createApis = (toxiproxy: Toxiproxy, options: ServiceOptions) =>
  Promise.all(
    APIS.map(async (name) => {
      const port = await freePort()
      const link = await toxiproxy.link(`clients>${name}`, port)
      const settings = { PORT: String(port), PLANT_STORE_TOKEN_DIGESTS: digestOf(TOKEN) }
      return { ...(await createService(name, 'api', settings, options)), url: `http://127.0.0.1:${link.port}`, link }
    }),
  )

export const createProjectors = (options: ServiceOptions) =>
  Promise.all(PROJECTORS.map((name) => createService(name, 'projector', {}, options)))

async function createService(
  name: string,
  kind: 'api' | 'projector',
  own: Record<string, string>,
  options: ServiceOptions,
) {
  const opsPort = await freePort()
  const clockFile = join(options.dataDir, `${name}.clock`)
  writeFileSync(clockFile, '0')
  const env = {
    ...{ ...options.settings, ...own, KAFKA_BROKERS: options.brokersOf(name), OPS_PORT: String(opsPort) },
    ...{ ...preloading(options.bug, CLOCK), CLOCK_FILE: clockFile },
  }
  let folder = options.former
  const member = createProgram(name, () => argumentsOf(kind, folder), env, { ...options, endsBySigterm: true })
  return {
    ...member,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    isFormer: () => folder !== undefined,
    /** Has its next start use the other release. */
    changeRelease(): void {
      folder = folder === undefined ? options.former : undefined
    },
    /** Sets the time of day of its processes off by this much. */
    setClockOff(byMs: number): void {
      writeFileSync(clockFile, String(byMs))
      member.signal('SIGUSR2')
    },
  }
}

/** A consumer of the events with each kind of first claims. */
export const createConsumers = (options: ServiceOptions) =>
  FIRST_CLAIMS.map((firstClaims) => {
    const name = `consumer-by-${firstClaims}`
    const { brokersOf, topic, dataDir } = options
    const task: ConsumerTask = {
      ...{ brokers: brokersOf(CONSUMERS).split(','), topic, firstClaims, workMs: 0 },
      groupId: `chaos-${name}`,
      deliveries: join(dataDir, `${name}.txt`),
      claimFile: join(dataDir, `${name}.sqlite`),
    }
    const args = [CONSUMER_PROGRAM, JSON.stringify(task)]
    return { ...createProgram(name, () => args, preloading(options.bug), options), deliveries: task.deliveries }
  })

function createProgram(name: string, args: () => string[], env: NodeJS.ProcessEnv, options: ServiceOptions) {
  const logFile = join(options.logDir, `${name}.log`)
  const program = { name, command: process.execPath, logFile, env: { PATH: process.env.PATH, ...env } }
  const { onUnexpectedEnd, endsBySigterm = false } = options
  const start = () => startProcess({ ...program, args: args() })
  return createMember({ name, start, onUnexpectedEnd, endsBySigterm })
}

/** Has Node load these files first, and the one that injects the bug. */
function preloading(bug: string | undefined, ...files: string[]): NodeJS.ProcessEnv {
  const all = bug === undefined ? files : [...files, INJECT_BUG]
  return { NODE_OPTIONS: all.map((file) => `--import=${file}`).join(' '), ...(bug !== undefined && { CHAOS_BUG: bug }) }
}
