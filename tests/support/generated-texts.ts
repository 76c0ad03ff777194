import fc from 'fast-check'

const [SURROGATES_FROM, SURROGATES] = [0xd800, 0x800]

/** The unit of well-formed texts. fast-check's `binary` puts all of them into a map: a second for each process. */
export const codePoints = fc
  .nat({ max: 0x10ffff - SURROGATES })
  .map((n) => String.fromCodePoint(n < SURROGATES_FROM ? n : n + SURROGATES))
