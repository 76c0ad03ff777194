import { create, read } from './client.ts'

// Never called: the types have to refuse these.
export const refused = [
  // @ts-expect-error: a plant has a name.
  () => create({ id: 1n }, 'key'),
  // @ts-expect-error: an id is a bigint.
  () => create({ id: 1, name: 'Ficus' }, 'key'),
  // @ts-expect-error: an id is a bigint.
  () => read(1, ''),
]
