const KEY_BYTES = 8
const SLOT_BYTES = 4

export type OpenHashTableOptions = {
  /** Keys per chunk; a power of two. */
  chunkKeys: number
  /** The slots at the start; a power of two. */
  firstSlots: number
  /** The share of the slots that may be used before their number is doubled. */
  loadMax: number
  /** Mixed into each hash, so that clients who choose the keys cannot choose collisions. */
  seed?: number
  /** Called before memory is allocated; may throw, and the table is then unchanged. Negative when memory is free again. */
  reserve?(bytes: number): void
}

/** Random seed of hashes. It changes no result, so the rules stay pure. */
const randomSeed = () => crypto.getRandomValues(new Uint32Array(1))[0] as number

/**
 * Numbers int64 keys from 0 in the order they are added, in 8 bytes per key and 4 per slot. Keys are appended to chunks
 * and never moved; a hash table with open addressing has their numbers. Values are up to the caller, by number.
 */
export function createOpenHashTable(options: OpenHashTableOptions) {
  const { chunkKeys, firstSlots, loadMax, seed = randomSeed(), reserve } = options
  const chunkBits = Math.log2(chunkKeys)
  const inChunk = chunkKeys - 1
  const chunks: BigInt64Array[] = []
  /** The same chunks as two halves of each key: comparing them creates no BigInt. */
  const chunkHalves: Int32Array[] = []
  let size = 0
  /** The number of a key plus 1; 0 is a free slot. */
  let slots = new Int32Array(0)
  const wanted = new BigInt64Array(1)
  const halves = new Int32Array(wanted.buffer)

  /** Every bit of both halves affects the low bits, which select the slot: keys are often sequential. */
  function hash(a: number, b: number): number {
    let mixed = Math.imul(a ^ seed, 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 15) ^ b, 0xc2b2ae35)
    mixed = Math.imul(mixed ^ (mixed >>> 13) ^ seed, 0x27d4eb2f)
    return (mixed ^ (mixed >>> 16)) >>> 0
  }

  /** The slot of a key, or the free one where it belongs. */
  function slotOf(a: number, b: number): number {
    const mask = slots.length - 1
    for (let slot = hash(a, b) & mask; ; slot = (slot + 1) & mask) {
      const number = (slots[slot] as number) - 1
      if (number < 0) return slot
      const known = chunkHalves[number >> chunkBits] as Int32Array
      const at = (number & inChunk) * 2
      if (known[at] === a && known[at + 1] === b) return slot
    }
  }

  function growChunks(): void {
    reserve?.(chunkKeys * KEY_BYTES)
    const chunk = new BigInt64Array(chunkKeys)
    chunks.push(chunk)
    chunkHalves.push(new Int32Array(chunk.buffer))
  }

  function growSlots(): void {
    const before = slots.length
    const length = before === 0 ? firstSlots : before * 2
    reserve?.(length * SLOT_BYTES)
    slots = new Int32Array(length)
    for (let number = 0; number < size; number++) {
      const known = chunkHalves[number >> chunkBits] as Int32Array
      const at = (number & inChunk) * 2
      slots[slotOf(known[at] as number, known[at + 1] as number)] = number + 1
    }
    reserve?.(-before * SLOT_BYTES)
  }

  return {
    size: (): number => size,

    /** The number of a key, or -1. */
    numberOf(key: bigint): number {
      if (size === 0) return -1
      wanted[0] = key
      return (slots[slotOf(halves[0] as number, halves[1] as number)] as number) - 1
    },

    /** Adds a key unless it is there. Returns its number, which is the previous size for a new key. */
    add(key: bigint): number {
      if (size === chunks.length * chunkKeys) growChunks()
      if (size >= slots.length * loadMax) growSlots()
      wanted[0] = key
      const slot = slotOf(halves[0] as number, halves[1] as number)
      const number = (slots[slot] as number) - 1
      if (number >= 0) return number
      ;(chunks[size >> chunkBits] as BigInt64Array)[size & inChunk] = key
      slots[slot] = ++size
      return size - 1
    },

    /** The keys of one chunk, in order. */
    chunk: (index: number): BigInt64Array => chunks[index] as BigInt64Array,

    clear(): void {
      chunks.length = 0
      chunkHalves.length = 0
      slots = new Int32Array(0)
      size = 0
    },
  }
}
