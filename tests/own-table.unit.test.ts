import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openPlantTable } from '../examples/own-table/plant-table.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const row = (id: bigint) => ({ id, name: `plant ${id}`, tag: null })

it('a rebuild of the table that another one has ended cannot replace it', () => {
  const file = join(temporaryFolder(), 'plants.sqlite')
  const [one, other] = [openPlantTable(file), openPlantTable(file)]
  const ended = one.startRebuild()
  ended.add([row(1n)])
  const rebuild = other.startRebuild()
  expect(() => ended.add([row(2n)])).toThrow('no such table')
  expect(() => ended.switchTo(new Map([[0, 2]]))).toThrow('no such table')
  rebuild.add([row(1n), row(2n)])
  rebuild.switchTo(new Map([[0, 2]]))
  expect([...one.all()].map(({ id }) => id)).toEqual([1n, 2n])
  one.close()
  other.close()
})
