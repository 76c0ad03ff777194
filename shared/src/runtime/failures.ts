/** The kinds of faults of the log, for callers that distinguish them. */
export type LogFault =
  | 'not-authorized'
  | 'topic-missing'
  | 'topic-truncated'
  | 'partitions-changed'
  | 'another-log'
  | 'undecodable-batch'

/** A precondition does not hold, and a retry cannot help. The message says what to change. */
export class PreconditionError extends Error {
  override name = 'PreconditionError'
  /** Undefined when the fault is not one of the log. */
  readonly fault: LogFault | undefined

  constructor(message: string, fault?: LogFault) {
    super(message)
    this.fault = fault
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The result of `read`; undefined when it throws. */
export function resultOf<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The message of what `check` throws; empty when it throws nothing. */
export function faultsOf(check: () => unknown): string[] {
  try {
    check()
    return []
  } catch (error) {
    return [messageOf(error)]
  }
}

const LISTEN_REMEDIES: Record<string, (portSetting: string) => string> = {
  EADDRINUSE: (portSetting) => `is in use: end the program that listens there, or set ${portSetting} to another port`,
  EACCES: (portSetting) => `needs a right that this user does not have: set ${portSetting} to 1024 or more`,
  EADDRNOTAVAIL: () => 'is not at an address of this machine: correct HOST',
  ENOTFOUND: () => 'is not at an address of this machine: correct HOST',
}

/** Converts an error of listening that the settings cause into a PreconditionError; returns any other one unchanged. */
export function listenErrorOf(error: unknown, port: number, host: string, portSetting: string): unknown {
  const remedy = LISTEN_REMEDIES[(error as NodeJS.ErrnoException).code ?? '']
  return remedy === undefined ? error : new PreconditionError(`port ${port} of ${host} ${remedy(portSetting)}`)
}
