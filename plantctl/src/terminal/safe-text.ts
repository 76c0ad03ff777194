/** Control characters, direction overrides and other invisible characters, which a terminal would act on. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu
/** A colour as `createPaint` sets and resets it, or one of these characters, except for the end of a line. */
const COLOUR_OR_UNSAFE = new RegExp(`\\x1b\\[(?:1|2|22|3[1236]|39)m|(?!\\n)${UNSAFE.source}`, UNSAFE.flags)

/**
 * Makes untrusted text safe for a terminal: escapes unsafe characters, and cuts what is longer than `maxCharacters`.
 */
export function safeText(text: string, maxCharacters: number): string {
  const characters = Array.from(text)
  const kept = characters.slice(0, maxCharacters).join('')
  const shown = kept.replaceAll('\\', '\\\\').replace(UNSAFE, escaped)
  return characters.length > maxCharacters ? `${shown}… (${characters.length} characters)` : shown
}

/**
 * Makes lines of output safe for a terminal, with or without the colours of plantctl. The escapes are those of JSON, so
 * JSON keeps its value.
 */
export function safeOutput(lines: string, colours: boolean): string {
  return lines.replace(COLOUR_OR_UNSAFE, (found) => {
    if (colours && found.endsWith('m')) return found
    return Array.from({ length: found.length }, (_, at) => jsonEscaped(found, at)).join('')
  })
}

function jsonEscaped(text: string, at: number): string {
  const code = text.charCodeAt(at)
  const isPlain = code > 0x20 && code < 0x7f
  return isPlain ? text.charAt(at) : `\\u${hex(code, 4)}`
}

function escaped(character: string): string {
  const code = character.codePointAt(0) as number
  return code <= 0xff ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 1)}}`
}

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')
