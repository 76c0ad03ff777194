import type { Random } from '../../simulation/random.ts'
import type { Cluster } from '../cluster.ts'
import type { Effect } from '../liveness.ts'
import type { Member } from '../member.ts'

/** A fault at its targets, which no other fault may have at the same time. */
export type Fault = {
  kind: string
  targets: readonly string[]
  /** Effects on requests, from the injection to the recovery; none unless given. */
  effects?: readonly Effect[]
  /** Its duration; drawn unless given. */
  holdMs?: number
  inject(context: { isAlone: boolean }): Promise<void>
  /** Removes what was injected. Absent if the fault heals by itself. */
  heal?(): Promise<void>
}

/** The cluster, and the broker that leads each partition before the fault. */
export type Scene = Cluster & { leaders: readonly Member[] }

/** The same numbers draw the same fault. */
export type Draw = (scene: Scene, random: Random) => Fault

export const COMMAND_TIMEOUT_MS = 10_000

export const every = (members: readonly Member[], act: (member: Member) => unknown) =>
  Promise.all(members.map(act)).then(() => undefined)

export const killed = (members: readonly Member[]) => ({
  targets: members.map(({ name }) => name),
  inject: () => every(members, (member) => member.end('SIGKILL')),
  heal: () => every(members, (member) => member.start()),
})

/** Creates of the partitions that a broker leads. */
export const createsLedBy = (server: string, { leaders }: Scene) => ({
  ...{ of: 'create' as const, servers: [server] },
  partitions: leaders.flatMap(({ name }, partition) => (name === server ? [partition] : [])),
})
