// JSON with ids as bigints, by what Node 22, Chrome 114, Firefox 135, Safari 18.4 and their successors have.

declare global {
  interface JSON {
    rawJSON(text: string): unknown
    parse(text: string, reviver: (key: string, value: unknown, context: { source: string }) => unknown): unknown
  }
}

const INTEGER = /^-?\d+$/

/** Writes bigints as integers. */
export function stringify(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part))
}

/** Reads integers as bigints, except the numbers of failures. */
export function parse(text: string): unknown {
  return JSON.parse(text, (key, value, { source }) =>
    typeof value === 'number' && key !== 'error' && INTEGER.test(source) ? BigInt(source) : value,
  )
}
