import { allPartitions, type Partition } from '@plant-store/shared/plant/offset.ts'
import { UsageError } from './command.ts'

const NUMBER = /^(0|[1-9]\d{0,3})$/

/** The partitions that `--partition` names, all of them without it. Throws a UsageError for one that there is not. */
export function partitionsAsked(given: readonly string[] | undefined, partitions: number): Partition[] {
  const all = allPartitions(partitions)
  if (given === undefined) return all
  const wrong = given.find((text) => !NUMBER.test(text) || Number(text) >= partitions)
  if (wrong !== undefined)
    throw new UsageError(`--partition ${wrong}: expected a number from 0 to ${partitions - 1}`)
  return all.filter((partition) => given.includes(String(partition)))
}
