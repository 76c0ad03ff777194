/**
 * A map of what comes and goes, with as much of a Map's interface as is needed. V8 leaves a reference from each table that a
 * Map has outgrown, or cleared of deleted entries, to the one that took its place, for iterators. Once one of them has
 * become old, all that follow are kept by it, with what was in them, until the next full collection, and scavenges copy it.
 * An object used as a dictionary deletes in place, and leaves no such chain.
 */
export class TransientMap<K extends bigint | number, V> {
  #size = 0
  #values: Record<string, V> = Object.create(null)

  get size(): number {
    return this.#size
  }

  has(key: K): boolean {
    return nameOf(key) in this.#values
  }

  get(key: K): V | undefined {
    return this.#values[nameOf(key)]
  }

  set(key: K, value: V): this {
    const name = nameOf(key)
    if (!(name in this.#values)) this.#size++
    this.#values[name] = value
    return this
  }

  delete(key: K): boolean {
    const name = nameOf(key)
    if (!(name in this.#values)) return false
    this.#size--
    return Reflect.deleteProperty(this.#values, name)
  }

  clear(): void {
    this.#size = 0
    this.#values = Object.create(null)
  }

  /** Those that are there now, the first set first. */
  values(): V[] {
    return Object.values(this.#values)
  }

  forEach(use: (value: V) => void): void {
    for (const value of this.values()) use(value)
  }
}

/** Not a number's own text: V8 keeps such entries in another form, which grows with the number. */
function nameOf(key: bigint | number): string {
  return `#${key}`
}
