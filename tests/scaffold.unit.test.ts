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

describe('the renaming', () => {
  it.each([
    ['plant, plants, Plant, Plants, PLANT, PLANTS', 'order, orders, Order, Orders, ORDER, ORDERS'],
    [
      'PlantCreated PlantStored newPlant onPlants plantStored',
      'OrderCreated OrderStored newOrder onOrders orderStored',
    ],
    ['plantctl startPlantctl PLANTCTL', 'orderctl startOrderctl ORDERCTL'],
    ['plant-store plant_store_build_info PLANT_STORE_TOKEN', 'order-store order_store_build_info ORDER_STORE_TOKEN'],
    ['Plant Store, #plantstoretablelag, @plant-store/shared', 'Order Store, #orderstoretablelag, @order-store/shared'],
    ['{plants:3}:live /plants/1 plants.table PLANTS_TOPIC', '{orders:3}:live /orders/1 orders.table ORDERS_TOPIC'],
    ['a plant, A plant, a `PlantCreated`, a\n * plant', 'an order, An order, an `OrderCreated`, an\n * order'],
    ['an unreadable plant, beta plants', 'an unreadable order, beta orders'],
    ['transplants, implanted, planted, eggplant, planter', 'transplants, implanted, planted, eggplant, planter'],
  ])('of %j', (text, renamed) => {
    expect(toOrder(text)).toBe(renamed)
  })

  it.each([
    ['a', 'user', 'users'],
    ['a', 'unit', 'units'],
    ['an', 'hour', 'hours'],
    ['an', 'item', 'items'],
    ['a', 'category', 'categories'],
  ])('has the article that is spoken and the plural that is given: %s %s, %s', (article, name, plural) => {
    expect(renamingTo({ name, plural })('a plant, plants')).toBe(`${article} ${name}, ${plural}`)
  })
})

describe('a name', () => {
  const paths = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trimEnd().split('\n')
  const files = new Map(
    paths
      .filter((path) => lstatSync(join(root, path)).isFile())
      .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  )
  const collisions = (name: string) => [...collisionsOf(files, renamingTo({ name, plural: `${name}s` }))]

  it.each(['event', 'log', 'token', 'record', 'kafka', 'class', 'store'])('%s is a word of the code', (name) => {
    expect(collisions(name)).not.toEqual([])
  })

  it.each(['order', 'customer', 'invoice', 'ticket'])('%s collides with nothing', (name) => {
    expect(collisions(name)).toEqual([])
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
    ['/nowhere', /--name "".* one English word/],
    ['--name Order /nowhere', /--name "Order".* lower-case letters/],
    ['--name sheep --plural sheep /nowhere', /--plural sheep: .* differs/],
    ['--name package /nowhere', /reserved word/],
    ['--name order', /one folder/],
    ['--name order /nowhere /elsewhere', /one folder/],
    ['--name order /tmp', /\/tmp exists: .* does not exist yet/],
    [`--name order ${root}orders`, /outside/],
    ['--nmae order /nowhere', /--nmae.*--help/s],
  ])('refuses %s', (text, message) => {
    expect(() => words(text)).toThrow(message)
  })
})

describe('a field', () => {
  const linesOf = (...specs: string[]) => fieldsOf(specs, 'order').map(({ line }) => line)

  it('becomes a line of the declaration', () => {
    expect(linesOf('customer:text', 'note:text?', 'priority:int64?', 'state:enum(open|on-hold)?')).toEqual([
      "customer: text('required', 'The customer of the order', ['customer 1'], MAX_TEXT_CODE_POINTS),",
      "note: text('added', 'The note of the order', ['note 1'], MAX_TEXT_CODE_POINTS),",
      "priority: int64('added', 'The priority of the order', [1n]),",
      "state: enumeration('added', 'The state of the order', ['open', 'on-hold']),",
    ])
  })

  it.each([
    [['note'], /NAME:KIND or/],
    [['note:float?'], /text, int64, or enum/],
    [['Note:text?'], /lower-case letter/],
    [['id:text?'], /id is reserved/],
    [['constructor:text?'], /reserved/],
    [['name:text?'], /name is declared already/],
    [['note:text?', 'note:int64?'], /note is declared already/],
    [['state:enum()?'], /each value once/],
    [['state:enum(a|a)?'], /each value once/],
    [Array.from({ length: 20 }, (_, n) => `n${n}:int64?`), /at most/],
  ])('is refused: %j', (specs, message) => {
    expect(() => fieldsOf(specs, 'order')).toThrow(message)
  })
})

describe('required fields', () => {
  const complete = completingWith(fieldsOf(['customer:text', 'note:text?', 'size:int64'], 'plant'))
  const [members, texts] = ['"customer":"customer 1","size":1', '"customer":"customer 1","size":"1"']

  it.each([
    ['a body', '{"id":1,"name":"n","tag":"t"}', `{"id":1,"name":"n",${members},"tag":"t"}`],
    ['a body with another field', '{"id":1,"name":"n","x":[]}', `{"id":1,"name":"n",${members},"x":[]}`],
    ['a response', 'is { "name": "n" }', 'is { "name": "n", "customer": "customer 1", "size": 1 }'],
    ['a quotation', '{\\"name\\":\\"n\\"}', `{\\"name\\":\\"n\\",${members.replaceAll('"', '\\"')}}`],
    ['a template', `{"id":\${id},"name":\${json(name)}}`, `{"id":\${id},"name":\${json(name)},${members}}`],
    ['an event', '{"id":"1","name":"n"}', `{"id":"1","name":"n",${texts}}`],
  ])('are added to %s', (_what, text, completed) => {
    expect(complete.records(text)).toBe(completed)
  })

  it.each([
    '{"id":1}',
    '{"name":"n","version":1}',
    '{"name": name}',
    `{"id":1,"name":"n",\${more}}`,
    '{"names":["n"]}',
  ])('are not added to %s', (text) => {
    expect(complete.records(text)).toBe(text)
  })

  it('are added to events of any form, and to what readers find in them', () => {
    expect(complete.payload('{"id":"1","name":"n"}')).toBe(`{"id":"1","name":"n",${texts}}`)
    expect(complete.payload(String.raw`{"x":{},"n\u0061me":"n","id":"1"} `)).toBe(
      String.raw`{"x":{},"n\u0061me":"n","id":"1",${texts}} `,
    )
    const nested = '"x":{"name":"n"}'
    expect(JSON.parse(complete.payload(`{"id":"1","name":"n",${nested}}`))).toMatchObject({
      customer: 'customer 1',
      size: '1',
    })
    for (const other of ['{"id":"1"}', '{"id":"1","name":7,"x":{}}', 'n', '[]'])
      expect(complete.payload(other)).toBe(other)
    const found = String.raw`{"is":"readable","id":"1","name":"\"}"`
    expect(complete.found(`"read":${found}}`)).toBe(`"read":${found},${texts}}`)
    expect(complete.found('"read":{"is":"foreign"}')).toBe('"read":{"is":"foreign"}')
  })
})
