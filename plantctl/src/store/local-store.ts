import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The stores of a running `npm start`, as the settings that name them. */
export type RunningStart = {
  file: string
  settings: Record<'KAFKA_BROKERS' | 'REDIS_URL' | 'PLANTS_TOPIC' | 'PLANTS_PARTITIONS', string>
}

const LOCAL_DIR = '.local'

/**
 * What `run.json` tells of a running `npm start`: in PLANT_STORE_LOCAL_DIR, else in the `.local` of this folder or of the
 * nearest one above that has one. Throws when there is such a file and it is none.
 */
export function runningStart(folder: string, localDir: string | undefined): RunningStart | undefined {
  const file = localDir ? join(resolve(folder, localDir), 'run.json') : nearest(folder)
  if (file === undefined || !existsSync(file)) return undefined
  const { kafkaBrokers, redisUrl, topic, partitions } = JSON.parse(readFileSync(file, 'utf8'))
  return {
    file,
    settings: {
      KAFKA_BROKERS: kafkaBrokers,
      REDIS_URL: redisUrl,
      PLANTS_TOPIC: topic,
      PLANTS_PARTITIONS: String(partitions),
    },
  }
}

function nearest(folder: string): string | undefined {
  const file = join(folder, LOCAL_DIR, 'run.json')
  if (existsSync(file)) return file
  const above = dirname(folder)
  return above === folder ? undefined : nearest(above)
}
