import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { REDIS_PLACES } from '@plant-store/shared/read-model/redis-settings.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { readSettings } from '@plant-store/shared/runtime/settings.ts'
import { STORE_SETTINGS } from '@plant-store/shared/stores/store-settings.ts'
import { Type } from 'typebox'
import { fileIn, readRun, settingsOf } from '../../../local/launch/run-file.ts'

const StoreSettings = Type.Object(STORE_SETTINGS)

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
 * The settings of a running `npm start`, and the file that has them: in PLANT_STORE_LOCAL_DIR, else in `.local` of this
 * folder or of the nearest folder above. Throws when the file is not JSON.
 */
function readLocalStart(folder: string, localDir: string | undefined) {
  const found = localDir ? resolve(folder, localDir) : nearestLocalDir(folder)
  if (found === undefined) return undefined
  const run = readRun(found)
  return run && { file: fileIn(found), settings: settingsOf(run, 'plantctl') }
}

function nearestLocalDir(folder: string): string | undefined {
  const localDir = join(folder, LOCAL_DIR)
  if (existsSync(fileIn(localDir))) return localDir
  const above = dirname(folder)
  return above === folder ? undefined : nearestLocalDir(above)
}
