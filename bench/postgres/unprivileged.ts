import { execFileSync } from 'node:child_process'

/** Whom a process runs as: nothing when it may run as we do. */
export type Unprivileged = { uid?: number; gid?: number }

/**
 * PostgreSQL refuses to run as root. As root we run it as `nobody`, who exists on every machine and owns nothing, so
 * that no user has to be made.
 */
export function unprivileged(): Unprivileged {
  if (process.getuid?.() !== 0) return {}
  const number = (option: string) => Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }))
  return { uid: number('-u'), gid: number('-g') }
}
