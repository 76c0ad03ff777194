/**
 * A map for short-lived entries, with the part of Map's interface that is needed. V8 keeps a reference from each table
 * that a Map has outgrown, or cleared of deleted entries, to its replacement, for iterators. Once one of these tables
 * is promoted to the old generation, it keeps all that follow it, and their contents, alive until the next full
 * collection, and scavenges copy them. An object used as a dictionary deletes in place and forms no such chain.
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

  /** The current values, in the order in which their keys were set. */
  values(): V[] {
    return Object.values(this.#values)
  }

  forEach(use: (value: V) => void): void {
    for (const value of this.values()) use(value)
  }
}

/** Not the plain number: V8 stores such properties as array elements, whose size grows with the number. */
function nameOf(key: bigint | number): string {
  return `#${key}`
}
