import type { Partition } from '@plant-store/shared/plant/position.ts'
import { UsageError } from '../command.ts'

/** The partitions named by `--partition`, each once and in order; undefined when none is. */
export function partitionsAmong(
  given: readonly string[] | undefined,
  count: number,
): Partition[] | undefined {
  if (given === undefined) return undefined
  const wrong = given.find((text) => !/^(0|[1-9]\d{0,3})$/.test(text) || Number(text) >= count)
  if (wrong !== undefined) {
    throw new UsageError(`--partition ${wrong}: expected a partition from 0 to ${count - 1}`)
  }
  return [...new Set(given.map(Number))].sort((a, b) => a - b) as Partition[]
}
