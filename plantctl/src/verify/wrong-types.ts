import type { GenerationDifference, KeyName } from './difference.ts'

const TYPES: Record<KeyName, string> = {
  ...{ live: 'string', filling: 'string' },
  ...{ meta: 'hash', plants: 'hash', order: 'list', parked: 'hash' },
}

/** The keys that nothing can be asked about, for they hold something else. */
export function wrongTypes(found: ReadonlyMap<string, string>): GenerationDifference[] {
  return Object.entries(TYPES).flatMap(([key, expected]): GenerationDifference[] => {
    const type = found.get(key)
    if (type === undefined || type === expected) return []
    return [{ what: 'wrongType', key: key as KeyName, expected, found: type }]
  })
}
