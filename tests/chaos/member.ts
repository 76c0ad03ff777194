import { type Exit, type RunningProcess, stopGroup } from '../../local/processes/process.ts'

const STOP_GRACE_MS = 30_000

export type Member = ReturnType<typeof createMember>

export type MemberOptions = {
  name: string
  /** The process, if it runs already. */
  running?: RunningProcess
  start(): Promise<RunningProcess>
  /** True if the process may end by itself, as a broker does when its disk is full. */
  mayEnd?: boolean
  /** True if SIGTERM has to end the process; it does not end a broker without a quorum. */
  endsBySigterm?: boolean
  /** Called when the process has ended without being ended by this member. */
  onUnexpectedEnd(member: Member, exit: Exit): void
}

/** One process of the cluster. It keeps its name, its ports and its data over all its starts. */
export function createMember({ name, running: first, start, mayEnd, endsBySigterm, onUnexpectedEnd }: MemberOptions) {
  let running: RunningProcess | undefined
  let starting: Promise<void> | undefined
  let startedAt = -Infinity
  let isEnding = false

  function follow(started: RunningProcess): void {
    isEnding = false
    running = started
    void started.exited.then((exit) => {
      if (running !== started) return
      running = undefined
      if (!isEnding) onUnexpectedEnd(member, exit)
    })
  }

  function signal(name: NodeJS.Signals): void {
    if (running !== undefined) process.kill(-running.pid, name)
  }

  const member = {
    name,
    mayEnd,
    signal,
    pid: () => running?.pid,
    /** The `performance.now()` before its last start: a higher number is another process. */
    startedAt: () => startedAt,

    /** Resolves when it is started as `start` does, at once if it is running. */
    async start(): Promise<void> {
      if (running !== undefined) return
      if (starting === undefined) startedAt = performance.now()
      starting ??= start()
        .then(follow)
        .finally(() => {
          starting = undefined
        })
      await starting
    },

    /** Resolves when it has ended. */
    async end(how: 'SIGKILL' | 'SIGTERM'): Promise<Exit | undefined> {
      await starting?.catch(() => undefined)
      isEnding = true
      const ending = running
      if (ending === undefined) return undefined
      if (how === 'SIGTERM') return stopGroup(ending.pid, ending.exited, STOP_GRACE_MS)
      signal('SIGKILL')
      return ending.exited
    },

    /** Ends it with this signal, and starts it again. Rejects if it had to end by SIGTERM and was killed. */
    async restart(how: 'SIGKILL' | 'SIGTERM'): Promise<void> {
      const exit = await member.end(how)
      await member.start()
      if (how === 'SIGTERM' && endsBySigterm && exit?.signal === 'SIGKILL')
        throw new Error(`${name} did not end within ${STOP_GRACE_MS / 1000} s after SIGTERM`)
    },
  }
  if (first !== undefined) follow(first)
  return member
}
