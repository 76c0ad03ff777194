/** Control characters, those that turn the direction of writing, and others that are not seen: a terminal would obey them. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu
/** Of these the ones that JSON.stringify leaves as they are. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

/** A text that anybody may have written, for a terminal: what could do harm is escaped, and what is too long cut. */
export function safeText(text: string, maxCharacters: number): string {
  const characters = Array.from(text)
  const kept = characters.slice(0, maxCharacters).join('')
  const shown = kept.replaceAll('\\', '\\\\').replace(UNSAFE, escaped)
  return characters.length > maxCharacters ? `${shown}… (${characters.length} characters)` : shown
}

/** One line of JSON that a terminal shows without harm; what it says is the same. */
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
