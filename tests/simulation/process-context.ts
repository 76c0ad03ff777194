import type { Log as ProcessLog } from '@plant-store/shared/runtime/log.ts'
import type { Clock, SimulatedProcess } from './clock.ts'
import type { Log } from './kafka.ts'
import type { Network } from './network.ts'
import type { RebuildRules } from './rebuild-rules.ts'

/** What every process of the simulation is in. */
export type ProcessContext = {
  clock: Clock
  log: Log
  network: Network
  /** The log of the processes: it says nothing. */
  quiet: ProcessLog
  /** What must hold of a rebuild. */
  rules: RebuildRules
  freshGeneration(): string
  freshMark(): string
  /** Told after each apply, carried out or refused. */
  onApplied(): void
  onHalt(process: SimulatedProcess, error: Error): void
}
