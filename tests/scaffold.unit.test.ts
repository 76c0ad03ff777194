import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../local/places.mjs'
import { fieldsOf } from '../local/scaffold/fields.ts'
import { collisionsOf, renamingTo } from '../local/scaffold/renaming.ts'
import { readOptions } from '../local/scaffold.ts'

const toOrder = renamingTo({ name: 'order', plural: 'orders' })

it.each([
  ['onPlants startPlantctl PLANT_STORE_TOKEN', 'onOrders startOrderctl ORDER_STORE_TOKEN'],
  ['a plant, A plant, a `PlantCreated`, a\n * plant', 'an order, An order, an `OrderCreated`, an\n * order'],
  ['transplants, implanted, planted, eggplant, planter', 'transplants, implanted, planted, eggplant, planter'],
])('the renaming of %j', (text, renamed) => {
  expect(toOrder(text)).toBe(renamed)
})

it.each(['a user, users', 'an hour, hours', 'a category, categories'])(
  'a name has the article that is spoken and the plural that is given: %s',
  (renamed) => {
    const [, name = '', plural = ''] = /^an? (\w+), (\w+)$/.exec(renamed) ?? []
    expect(renamingTo({ name, plural })('a plant, plants')).toBe(renamed)
  },
)

describe('a name', () => {
  const paths = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trimEnd().split('\n')
  const ordinary = paths.filter((path) => lstatSync(join(root, path)).isFile())
  const files = new Map(ordinary.map((path) => [path, readFileSync(join(root, path), 'utf8')]))

  it.each([
    ['event', false],
    ['class', false],
    ['order', true],
  ])('%s can be used: %s', (name, isUsable) => {
    const collisions = [...collisionsOf(files, renamingTo({ name, plural: `${name}s` }))]
    expect(collisions.length === 0, collisions[0]).toBe(isUsable)
  })

  it('must not make two files one', () => {
    const two = new Map(['plant.md', 'order.md'].map((path) => [path, '']))
    expect([...collisionsOf(two, toOrder)]).toEqual(['the files plant.md and order.md'])
  })
})

describe('the command line', () => {
  const words = (text: string) => readOptions(text.split(' '))

  it.each([
    ['--name Order /nowhere', /--name "Order".* lower-case letters/],
    ['--name sheep --plural sheep /nowhere', /--plural sheep: .* differs/],
    ['--name package /nowhere', /reserved word/],
    ['--name order', /one folder/],
    ['--name order /tmp', /\/tmp exists: .* does not exist yet/],
    [`--name order ${root}orders`, /outside/],
  ])('refuses %s', (text, message) => {
    expect(() => words(text)).toThrow(message)
  })
})

it.each([
  [['note'], /NAME:KIND or/],
  [['note:float?'], /text, int64, or enum/],
  [['constructor:text?'], /reserved/],
  [['note:text?', 'note:int64?'], /note is declared already/],
  [['state:enum(a|a)?'], /each value once/],
  [Array.from({ length: 20 }, (_, n) => `n${n}:int64?`), /at most/],
])('a field is refused: %j', (specs, message) => {
  expect(() => fieldsOf(specs, 'order')).toThrow(message)
})
