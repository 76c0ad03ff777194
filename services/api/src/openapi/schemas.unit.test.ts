import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { extractComponents } from './schemas.ts'

describe('schemas of routes in the description', () => {
  it('must not share a title when they differ', () => {
    const differing = [Type.String({ title: 'Name' }), Type.String({ title: 'Name', maxLength: 3 })]
    expect(() => extractComponents(differing)).toThrow('two different schemas have the title Name')
  })

  it('keep other formats and fields with the name title', () => {
    const tree = { when: { type: 'string', format: 'date' }, properties: { title: { type: 'string' } } }
    expect(extractComponents(tree)).toEqual({ tree, schemas: {} })
  })
})
