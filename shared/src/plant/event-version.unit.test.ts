import { expect, it } from 'vitest'
import { type EventVersion, upcast } from './event-version.ts'
import type { PlantId } from './plant-id.ts'

const ID = 42n as PlantId
const KEY = Buffer.from('42')

/** A version whose payload is a text of just one letter. */
const version = <Content>(letter: string, content: Content): EventVersion<Content> => ({
  contentType: Buffer.from(letter),
  read: (payload, id, key) =>
    payload.toString() === letter && id === ID && key === KEY ? content : undefined,
})

it('each version is read through all upcasts that came after it, and no other', () => {
  const twoVersions = [...upcast([version('a', 1)], (one) => [`one ${one}`]), version('b', ['two'])]
  const versions = [
    ...upcast(twoVersions, (texts) => ({ said: texts.join() })),
    version('c', { said: 'three' }),
  ]
  const readAs = (n: number, payload: string) => versions[n]?.read(Buffer.from(payload), ID, KEY)

  expect(versions.map(({ contentType }) => contentType.toString())).toEqual(['a', 'b', 'c'])
  expect([readAs(0, 'a'), readAs(1, 'b'), readAs(2, 'c')]).toEqual([
    { said: 'one 1' },
    { said: 'two' },
    { said: 'three' },
  ])
  expect(readAs(0, 'b')).toBeUndefined()
})
