import { type PlantId, parsePlantId } from '@plant-store/shared/plant/plant.ts'
import { UsageError } from '../command.ts'

/** The id that `--id` names, if there is one. Throws a UsageError for what is no id. */
export function idOption(text: string | undefined): PlantId | undefined {
  if (text === undefined) return undefined
  const id = parsePlantId(text)
  if (id !== undefined) return id
  throw new UsageError(`--id ${text}: expected an int64 in decimal, such as 7 (--id=-7 for a negative one)`)
}
