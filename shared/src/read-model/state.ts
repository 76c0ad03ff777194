import type { Checkpoint } from '../protocol/checkpoint.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

/** All fields of a meta. */
export const META_FIELDS = [
  ...(['checkpoint', 'event', 'fold', 'partitions'] as const),
  ...(['plants', 'voids', 'parked', 'mark'] as const),
] as const

/** What state.lua tells of one generation, all of one moment. */
export type GenerationState = {
  /** '' when the live one was asked for and there is no pointer. */
  generation: string
  /** What the pointers name; '' without one. */
  live: string
  filling: string
  /** Undefined when the generation has no meta: then it is no fold of anything, whatever other keys there are; or no offset. */
  checkpoint: Checkpoint | undefined
  fold: number
  partitions: number
  /** As the meta counts them. */
  plants: number
  voids: number
  parked: number
  mark: string
  /** The same as it is stored, to the letter; '' for what is not there. */
  texts: Record<(typeof META_FIELDS)[number], string>
  /** How much its keys hold; -1 for a key of another type. */
  held: { plants: number; order: number; parked: number }
  /** -1 for a key that does not expire, as all should; -2 for one that is not there. */
  msToLive: Record<'live' | 'filling' | 'meta' | 'plants' | 'order' | 'parked', number>
}

export function generationState(told: readonly string[]): GenerationState {
  const [generation = '', live = '', filling = '', ...fields] = told
  const rest = fields.slice(2)
  const mark = rest[5] ?? ''
  const number = (at: number) => Number(rest[at])
  return {
    ...{ generation, live, filling, mark },
    checkpoint: checkpointIn(fields),
    texts: Object.fromEntries(
      META_FIELDS.map((name, at) => [name, fields[at] ?? '']),
    ) as GenerationState['texts'],
    fold: number(0),
    partitions: number(1),
    plants: number(2),
    voids: number(3),
    parked: number(4),
    held: { plants: number(6), order: number(7), parked: number(8) },
    msToLive: {
      live: number(9),
      filling: number(10),
      meta: number(11),
      plants: number(12),
      order: number(13),
      parked: number(14),
    },
  }
}

function checkpointIn([offset, event]: readonly string[]): Checkpoint | undefined {
  if (!offset) return undefined
  try {
    return storedCheckpoint(offset, event)
  } catch {
    return undefined
  }
}
