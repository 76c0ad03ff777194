import type { Brokers } from './brokers.ts'
import type { Clock, SimulatedProcess } from './clock.ts'
import type { Log } from './kafka.ts'
import type { Network } from './network.ts'
import type { Random } from './random.ts'
import type { RebuildRules } from './rebuild-rules.ts'
import type { Table } from './table.ts'

/** The simulated environment of every process, and of the programs and clients that use them. */
export type ProcessContext = {
  clock: Clock
  log: Log
  network: Network
  /** Undefined in schedules without one. */
  table: Table | undefined
  brokers: Brokers
  /** The guarantees of a rebuild. */
  rules: RebuildRules
  freshGeneration(): string
  newProcess(name: string): SimulatedProcess
  crash(process: SimulatedProcess, random: Random): void
  trace(what: () => string): void
  broken(guarantee: string): void
  /** True if a wrong log or read model is part of the schedule. */
  mayHalt(): boolean
  /** Called after each apply, executed or refused. */
  onApplied(): void
  onHalt(process: SimulatedProcess, error: Error): void
}
