import type { Random } from '../../simulation/random.ts'
import type { Cluster } from '../cluster.ts'
import type { Member } from '../member.ts'

/** A fault at its targets, which no other fault may have at the same time. */
export type Fault = {
  kind: string
  targets: readonly string[]
  inject(context: { isAlone: boolean }): Promise<void>
  /** Removes what was injected. What heals by itself has none. */
  heal?(): Promise<void>
}

/** The same numbers draw the same fault. */
export type Draw = (cluster: Cluster, random: Random) => Fault

export const COMMAND_TIMEOUT_MS = 10_000

export const every = (members: readonly Member[], act: (member: Member) => unknown) =>
  Promise.all(members.map(act)).then(() => undefined)

export const killed = (kind: string, members: readonly Member[]): Fault => ({
  kind,
  targets: members.map(({ name }) => name),
  inject: () => every(members, (member) => member.kill()),
  heal: () => every(members, (member) => member.start()),
})
