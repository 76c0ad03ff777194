import type { Log as ProcessLog } from '@plant-store/shared/runtime/log.ts'
import type { Brokers } from './brokers.ts'
import type { Clock, SimulatedProcess } from './clock.ts'
import type { Log } from './kafka.ts'
import type { Network } from './network.ts'
import type { RebuildRules } from './rebuild-rules.ts'
import type { Table } from './table.ts'

/** The simulated environment of every process. */
export type ProcessContext = {
  clock: Clock
  log: Log
  network: Network
  /** Undefined in schedules without one. */
  table: Table | undefined
  brokers: Brokers
  /** The log of the processes, which discards everything. */
  quiet: ProcessLog
  /** The guarantees of a rebuild. */
  rules: RebuildRules
  freshGeneration(): string
  freshMark(): string
  /** Called after each apply, executed or refused. */
  onApplied(): void
  onHalt(process: SimulatedProcess, error: Error): void
}
