/** Control characters, direction overrides and other invisible characters, which a terminal would act on. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu
/** Those of them that JSON.stringify does not escape. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Makes untrusted text safe for a terminal: escapes unsafe characters, and cuts what is longer than `maxCharacters`.
 */
export function safeText(text: string, maxCharacters: number): string {
  const characters = Array.from(text)
  const kept = characters.slice(0, maxCharacters).join('')
  const shown = kept.replaceAll('\\', '\\\\').replace(UNSAFE, escaped)
  return characters.length > maxCharacters ? `${shown}… (${characters.length} characters)` : shown
}

/** One line of JSON that is safe for a terminal; it parses to the same value. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE_IN_JSON, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${hex(found.charCodeAt(at), 4)}`).join(''),
  )
}

function escaped(character: string): string {
  const code = character.codePointAt(0) as number
  return code <= 0xff ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 1)}}`
}

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')
