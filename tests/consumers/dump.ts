import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { TestTopic } from '../support/topic.ts'
import { readTruth } from '../support/truth.ts'

/** A plant as the examples write it: `unreadable` in place of name and tag where its event can't be read. */
export type PlantLine = { id: string; name?: string; tag?: string; unreadable?: true }

/** The plants of a dump by id, in JSON Lines. */
export function readDump(file: string): Map<string, PlantLine> {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  const plants = lines.map((line) => JSON.parse(line) as PlantLine)
  const byId = new Map(plants.map((plant) => [plant.id, plant]))
  expect(byId.size, 'each plant is in the dump once').toBe(plants.length)
  return byId
}

/** The plants of a log by id, as the product folds it and as the examples write them. */
export async function plantsOfLog(topic: TestTopic): Promise<Map<string, PlantLine>> {
  const claims = (await readTruth(topic)).states.flatMap(({ plants }) => [...plants.values()])
  return new Map(claims.map(({ id, plant }) => [String(id), { id: String(id), ...(plant ?? { unreadable: true }) }]))
}
