import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { REDIS_PLACES } from '@plant-store/shared/read-model/redis-settings.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { STORE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { Type } from 'typebox'

const StoreSettings = Type.Object(STORE_SETTINGS)

/** Settings of a running `npm start`, and the file that has them. */
type LocalStart = { file: string; settings: Record<string, string> }

const LOCAL_DIR = '.local'

/**
 * The settings of the store that the environment selects, else the settings of a running `npm start` and the `file`
 * that has them. Throws a PreconditionError when neither names a store.
 */
export function readStoreSettings(env: NodeJS.ProcessEnv) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value))
  const namesRedis = REDIS_PLACES.some((name) => given[name] !== undefined)
  if (given.KAFKA_BROKERS && namesRedis) return { settings: readSettings(StoreSettings, given) }
  const local = readLocalStart(process.cwd(), given.PLANT_STORE_LOCAL_DIR)
  if (local === undefined && !given.KAFKA_BROKERS && !namesRedis) {
    throw new PreconditionError(
      'No store selected. Set KAFKA_BROKERS and REDIS_URL (and PLANTS_TOPIC and PLANTS_PARTITIONS unless they are plants ' +
        'and 12), or run npm start: plantctl then uses its store.',
    )
  }
  // Never the log of one store with the read model of another.
  const fits = ['KAFKA_BROKERS', ...REDIS_PLACES].every(
    (name) => given[name] === undefined || given[name] === local?.settings[name],
  )
  if (local === undefined || !fits) return { settings: readSettings(StoreSettings, given) }
  return { settings: readSettings(StoreSettings, { ...local.settings, ...given }), file: local.file }
}

/**
 * Reads `run.json` of a running `npm start`: from PLANT_STORE_LOCAL_DIR, else from `.local` in this folder or the
 * nearest folder above. Undefined for one that was killed: other stores may have its ports. Throws when the file is not
 * JSON.
 */
function readLocalStart(folder: string, localDir: string | undefined): LocalStart | undefined {
  const file = localDir ? join(resolve(folder, localDir), 'run.json') : nearestRunFile(folder)
  if (file === undefined || !existsSync(file)) return undefined
  const { storeSettings, topic, partitions, table, pids } = JSON.parse(readFileSync(file, 'utf8'))
  if (!isAlive(pids.launcher)) return undefined
  return {
    file,
    settings: {
      ...storeSettings.plantctl,
      PLANTS_TOPIC: topic,
      PLANTS_PARTITIONS: String(partitions),
      PLANTS_TABLE: table,
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function nearestRunFile(folder: string): string | undefined {
  const file = join(folder, LOCAL_DIR, 'run.json')
  if (existsSync(file)) return file
  const above = dirname(folder)
  return above === folder ? undefined : nearestRunFile(above)
}
