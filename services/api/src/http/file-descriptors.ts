import type { Log } from '@plant-store/shared/runtime/log.ts'

/** File descriptors that connections of clients do not get: those of Kafka, Redis, the operations port and files. */
const RESERVED_DESCRIPTORS = 256

/**
 * The number of connections for which this process has file descriptors, at least half of them. Logs a warning when
 * that is less than `connectionsMax`. (At its start, Node raises the soft limit to the hard one.)
 */
export function connectionsPermitted(connectionsMax: number, log: Pick<Log, 'warn'>): number {
  // Otherwise the report looks up the name of each peer.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const descriptors = Number(userLimits?.open_files.soft)
  if (Number.isNaN(descriptors)) return Infinity
  const permitted = Math.max(descriptors - RESERVED_DESCRIPTORS, Math.floor(descriptors / 2))
  if (permitted < connectionsMax) {
    log.warn(
      `CONNECTIONS_MAX is ${connectionsMax}, but with ${descriptors} file descriptors this process accepts at most ` +
        `${permitted} connections: raise the limit of open files (ulimit -n) to ` +
        `${connectionsMax + RESERVED_DESCRIPTORS}, or lower CONNECTIONS_MAX`,
    )
  }
  return permitted
}
