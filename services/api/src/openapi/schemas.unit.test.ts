import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { extractComponents } from './schemas.ts'

describe('schemas of routes in the description', () => {
  it('become components where they have a title, at any depth', () => {
    const Leaf = Type.Object({ form: Type.String() }, { title: 'Leaf' })
    const { tree, schemas } = extractComponents({
      body: Leaf,
      list: Type.Array(Type.Object({ leaf: Leaf }, { title: 'Branch' })),
    })
    expect(tree).toEqual({
      body: { $ref: '#/components/schemas/Leaf' },
      list: { type: 'array', items: { $ref: '#/components/schemas/Branch' } },
    })
    expect(schemas).toEqual({
      Leaf: { type: 'object', required: ['form'], properties: { form: { type: 'string' } } },
      Branch: {
        type: 'object',
        required: ['leaf'],
        properties: { leaf: { $ref: '#/components/schemas/Leaf' } },
      },
    })
  })

  it('must not share a title when they differ', () => {
    const differing = [Type.String({ title: 'Name' }), Type.String({ title: 'Name', maxLength: 3 })]
    expect(() => extractComponents(differing)).toThrow('two different schemas have the title Name')
  })

  it.each([
    ['a bigint', Type.Unsafe<bigint>({ format: 'int64' })],
    ['text', Type.String({ format: 'int64' })],
    ['what it is in JSON', Type.Unsafe<bigint>({ type: 'integer', format: 'int64' })],
  ])('have integers where an int64 is %s in the service', (_what, schema) => {
    expect(extractComponents(schema).tree).toEqual({ type: 'integer', format: 'int64' })
  })

  it('keep other formats and fields with the name title', () => {
    const tree = { when: { type: 'string', format: 'date' }, properties: { title: { type: 'string' } } }
    expect(extractComponents(tree)).toEqual({ tree, schemas: {} })
  })
})
