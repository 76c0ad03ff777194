import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { identify } from '../processes/process-identity.ts'
import { writeWhole } from '../processes/whole-file.ts'

export type StoreUser = 'api' | 'projector' | 'plantctl'

/**
 * `run.json`: what other programs need to know of a running `npm start`. It exists from the moment both services are
 * ready until the orderly end, and only the user can read it, because it holds the token.
 */
export type Run = {
  url: string
  urls: string[]
  /** The URLs of the operations ports, by service. */
  opsUrls: Record<string, string>
  token: string
  /** Settings with which each program reaches Kafka and Redis, with the rights that it needs. */
  storeSettings: Record<StoreUser, Record<string, string>>
  topic: string
  partitions: number
  table: string
  /** The compose project of Kafka and Redis, when they are containers. */
  dockerProject: string | undefined
  /**
   * The pids of the current processes by name, also after a restart: launcher, api, projector, kafka, redis. A Kafka or
   * Redis that this start did not start as a process is left out; names in a cluster have numbers.
   */
  pids: Record<string, number>
}

export const fileIn = (localDir: string) => join(localDir, 'run.json')

/** Undefined also if the launcher has ended without deleting the file: other stores may have its ports. */
export function readRun(localDir: string): Run | undefined {
  const file = fileIn(localDir)
  if (!existsSync(file)) return undefined
  const { identity, ...run } = JSON.parse(readFileSync(file, 'utf8'))
  return identity && identity === identify(run.pids.launcher) ? run : undefined
}

/** The names that all programs of a store need to have in common. */
export const namesOf = ({ topic, partitions, table }: Pick<Run, 'topic' | 'partitions' | 'table'>) => ({
  PLANTS_TOPIC: topic,
  PLANTS_PARTITIONS: String(partitions),
  PLANTS_TABLE: table,
})

/** The settings of one program, by which it uses the same store. */
export const settingsOf = (run: Run, user: StoreUser): Record<string, string> => ({
  ...run.storeSettings[user],
  ...namesOf(run),
})

export function writeRun(localDir: string, run: Run): void {
  const identity = identify(Number(run.pids.launcher))
  writeWhole(fileIn(localDir), `${JSON.stringify({ ...run, identity }, null, 2)}\n`, { mode: 0o600 })
}

export function removeRun(localDir: string): void {
  rmSync(fileIn(localDir), { force: true })
}
