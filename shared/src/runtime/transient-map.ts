type Entry<K, V> = { readonly key: K; value: V; next: Entry<K, V> | undefined }

/** A power of two. */
const BUCKETS = 64
const SEED = crypto.getRandomValues(new Int32Array(1))[0] as number
const int64 = new BigInt64Array(1)
const halves = new Int32Array(int64.buffer)

/**
 * A map for short-lived entries, with the part of Map's interface that is needed. V8 keeps a reference from each table
 * that a Map has outgrown, or cleared of deleted entries, to its replacement, for iterators. Once one of these tables
 * is promoted to the old generation, it keeps all that follow it, and their contents, alive until the next full
 * collection, and scavenges copy them. Here lists of entries never change their table. An object as a dictionary would
 * make a text of each bigint: 15 times the time.
 *
 * The keys are of int64. There should be about as many buckets, a power of two, as entries.
 */
export class TransientMap<K extends bigint | number, V> {
  #size = 0
  readonly #buckets: (Entry<K, V> | undefined)[]

  constructor(buckets = BUCKETS) {
    this.#buckets = Array(buckets).fill(undefined)
  }

  get size(): number {
    return this.#size
  }

  has(key: K): boolean {
    return this.#entry(key) !== undefined
  }

  get(key: K): V | undefined {
    return this.#entry(key)?.value
  }

  set(key: K, value: V): this {
    const entry = this.#entry(key)
    if (entry === undefined) {
      const bucket = this.#bucketOf(key)
      this.#buckets[bucket] = { key, value, next: this.#buckets[bucket] }
      this.#size++
    } else entry.value = value
    return this
  }

  delete(key: K): boolean {
    const bucket = this.#bucketOf(key)
    let before: Entry<K, V> | undefined
    let entry = this.#buckets[bucket]
    while (entry !== undefined && entry.key !== key) {
      before = entry
      entry = entry.next
    }
    if (entry === undefined) return false
    if (before === undefined) this.#buckets[bucket] = entry.next
    else before.next = entry.next
    this.#size--
    return true
  }

  clear(): void {
    this.#size = 0
    this.#buckets.fill(undefined)
  }

  /** The current values, in no order. */
  values(): V[] {
    const values: V[] = []
    for (let entry of this.#buckets) for (; entry !== undefined; entry = entry.next) values.push(entry.value)
    return values
  }

  forEach(use: (value: V) => void): void {
    for (const value of this.values()) use(value)
  }

  #entry(key: K): Entry<K, V> | undefined {
    let entry = this.#buckets[this.#bucketOf(key)]
    while (entry !== undefined && entry.key !== key) entry = entry.next
    return entry
  }

  /** Depends on a seed, so that clients who choose the keys cannot choose one bucket. */
  #bucketOf(key: K): number {
    if (typeof key === 'bigint') int64[0] = key
    else {
      halves[0] = key
      halves[1] = 0
    }
    let mixed = Math.imul((halves[0] as number) ^ SEED, 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ (halves[1] as number), 0xc2b2ae35)
    mixed = Math.imul(mixed ^ (mixed >>> 13) ^ SEED, 0x27d4eb2f)
    return (mixed ^ (mixed >>> 16)) & (this.#buckets.length - 1)
  }
}
