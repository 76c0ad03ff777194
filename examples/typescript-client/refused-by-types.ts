import { create as createByHeyApi, read as readByHeyApi } from './with-hey-api.ts'
import { create, read } from './with-openapi-fetch.ts'

// Never called: the types have to refuse these.
export const refused = [
  // @ts-expect-error: a plant has a name.
  () => create({ id: 1n }, 'key'),
  // @ts-expect-error: an id is a bigint.
  () => create({ id: 1, name: 'Ficus' }, 'key'),
  // @ts-expect-error: an id is a bigint.
  () => read(1, ''),
  // @ts-expect-error: a plant has a name.
  () => createByHeyApi({ id: 1n }, 'key'),
  // @ts-expect-error: an id is a bigint.
  () => createByHeyApi({ id: 1, name: 'Ficus' }, 'key'),
  // @ts-expect-error: an id is a bigint.
  () => readByHeyApi(1, ''),
]
