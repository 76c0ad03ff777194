const FIRST_BYTES = 64 * 1_024
/** Up to this length a loop is faster than a call. */
const SHORT_BYTES = 48

export type Output = ReturnType<typeof createOutput>

/**
 * The decompressed bytes of formats that copy earlier output. Throws a RangeError instead of growing beyond `maxBytes`,
 * and where the input names bytes that do not exist.
 */
export function createOutput(maxBytes: number) {
  let bytes = Buffer.allocUnsafeSlow(Math.min(FIRST_BYTES, maxBytes))
  let end = 0

  function makeRoom(length: number): void {
    const needed = end + length
    if (needed > maxBytes) throw new RangeError(`more than ${maxBytes} bytes are compressed`)
    if (needed <= bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.min(maxBytes, Math.max(2 * bytes.length, needed)))
    larger.set(bytes.subarray(0, end))
    bytes = larger
  }

  return {
    length: (): number => end,

    /** Appends bytes of the input from `start` on. */
    append(input: Uint8Array, start: number, length: number): void {
      if (start + length > input.length) throw new RangeError('the compressed bytes end within a literal')
      makeRoom(length)
      if (length > SHORT_BYTES) bytes.set(input.subarray(start, start + length), end)
      else for (let index = 0; index < length; index++) bytes[end + index] = input[start + index] as number
      end += length
    },

    /** Appends what lies `distance` bytes back, not before `floor`; it may reach into what it appends. */
    repeat(distance: number, length: number, floor: number): void {
      const start = end - distance
      if (distance === 0 || start < floor) throw new RangeError(`a copy starts ${distance} bytes back`)
      makeRoom(length)
      if (length > SHORT_BYTES && length <= distance) bytes.copyWithin(end, start, start + length)
      else for (let index = 0; index < length; index++) bytes[end + index] = bytes[start + index] as number
      end += length
    },

    finish: (): Buffer => bytes.subarray(0, end),
  }
}
