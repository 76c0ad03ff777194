import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../local/places.mjs'
import { completingWith } from '../local/scaffold/completing.ts'
import { fieldsOf } from '../local/scaffold/fields.ts'
import { collisionsOf, renamingTo } from '../local/scaffold/renaming.ts'
import { readOptions } from '../local/scaffold.ts'

const toOrder = renamingTo({ name: 'order', plural: 'orders' })

it.each([
  ['plant, plants, Plant, Plants, PLANT, PLANTS', 'order, orders, Order, Orders, ORDER, ORDERS'],
  ['PlantCreated onPlants plantctl startPlantctl PLANTCTL', 'OrderCreated onOrders orderctl startOrderctl ORDERCTL'],
  ['plant_store_build_info PLANT_STORE_TOKEN {plants:3}', 'order_store_build_info ORDER_STORE_TOKEN {orders:3}'],
  ['Plant Store, #plantstoretablelag, @plant-store/shared', 'Order Store, #orderstoretablelag, @order-store/shared'],
  ['a plant, A plant, a `PlantCreated`, a\n * plant', 'an order, An order, an `OrderCreated`, an\n * order'],
  ['transplants, implanted, planted, eggplant, planter', 'transplants, implanted, planted, eggplant, planter'],
])('the renaming of %j', (text, renamed) => {
  expect(toOrder(text)).toBe(renamed)
})

it.each(['a user, users', 'a unit, units', 'an hour, hours', 'an item, items', 'a category, categories'])(
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
    ['kafka', false],
    ['class', false],
    ['order', true],
    ['customer', true],
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

  it('has a plural and no fields by default', () => {
    expect(words('--name order /nowhere/orders')).toEqual({
      ...{ name: 'order', plural: 'orders', folder: '/nowhere/orders', fields: [] },
    })
  })

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

it('a field becomes a line of the declaration', () => {
  const fields = fieldsOf(['customer:text', 'priority:int64?', 'state:enum(open|on-hold)?'], 'order')
  expect(fields.map(({ line }) => line)).toEqual([
    "customer: text('required', 'The customer of the order', ['customer 1'], MAX_TEXT_CODE_POINTS),",
    "priority: int64('added', 'The priority of the order', [1n]),",
    "state: enumeration('added', 'The state of the order', ['open', 'on-hold']),",
  ])
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

describe('required fields', () => {
  const complete = completingWith(fieldsOf(['customer:text', 'note:text?', 'size:int64'], 'plant'))
  const [members, texts] = ['"customer":"customer 1","size":1', '"customer":"customer 1","size":"1"']

  it.each([
    ['{"id":1,"name":"n","x":[]}', `{"id":1,"name":"n",${members},"x":[]}`],
    ['is { "name": "n" }', 'is { "name": "n", "customer": "customer 1", "size": 1 }'],
    ['{\\"name\\":\\"n\\"}', `{\\"name\\":\\"n\\",${members.replaceAll('"', '\\"')}}`],
    [`{"id":\${id},"name":\${json(name)}}`, `{"id":\${id},"name":\${json(name)},${members}}`],
    ['{"id":"1","name":"n"}', `{"id":"1","name":"n",${texts}}`],
    ...['{"id":1}', '{"name":"n","version":1}', '{"name": name}', `{"id":1,"name":"n",\${more}}`].map((text) => [
      text,
      text,
    ]),
  ])('of the records in %s', (text, completed) => {
    expect(complete.records(text as string)).toBe(completed)
  })

  it('are added to events of any form, and to what readers find in them', () => {
    expect(complete.payload(String.raw`{"x":{},"n\u0061me":"n","id":"1"} `)).toBe(
      String.raw`{"x":{},"n\u0061me":"n","id":"1",${texts}} `,
    )
    for (const other of ['{"id":"1"}', '{"id":"1","name":7,"x":{}}', 'n', '[]'])
      expect(complete.payload(other)).toBe(other)
    const found = String.raw`{"is":"readable","id":"1","name":"\"}"`
    expect(complete.found(`"read":${found}}`)).toBe(`"read":${found},${texts}}`)
    expect(complete.found('"read":{"is":"foreign"}')).toBe('"read":{"is":"foreign"}')
  })
})
