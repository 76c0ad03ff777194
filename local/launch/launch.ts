import type { RunningProcess } from '../processes/process.ts'
import type { Progress } from './progress.ts'
import type { StoreUser } from './run-file.ts'
import type { Settings } from './settings.ts'
import type { StartedRecord } from './started-record.ts'
import type { Start } from './supervisor.ts'

export type Launch = {
  settings: Settings
  token: string
  progress: Progress
  /** Called with each ready process, and with the function that restarts it. */
  keep(running: RunningProcess, start: Start): void
  started: StartedRecord
}

/** A program that uses the stores. If the stores have users, each program has the rights that it needs. */
export type Role = 'setup' | StoreUser

export type Stores = {
  settingsOf(role: Role): Record<string, string>
  /** The compose project of their containers. */
  dockerProject?: string
}
