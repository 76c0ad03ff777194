/** Control characters, direction overrides and other invisible characters, which a terminal would act on. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu
/** A colour as `createPaint` sets and resets it, or one of these characters, except for the end of a line. */
const COLOUR_OR_UNSAFE = new RegExp(`\\x1b\\[(?:1|2|22|3[1236]|39)m|(?!\\n)${UNSAFE.source}`, UNSAFE.flags)

/** Makes text safe for a terminal: escapes what is unsafe, and cuts what is longer than `maxCharacters`. */
export function safeText(text: string, maxCharacters: number): string {
  const characters = Array.from(text)
  const kept = characters.slice(0, maxCharacters).join('')
  const shown = kept.replaceAll('\\', '\\\\').replace(UNSAFE, escaped)
  return characters.length > maxCharacters ? `${shown}… (${characters.length} characters)` : shown
}

/** Makes lines of output safe for a terminal, with or without the colours of plantctl. */
export function safeOutput(lines: string, colours: boolean): string {
  return lines.replace(COLOUR_OR_UNSAFE, (found) => (colours && found.endsWith('m') ? found : escaped(found)))
}

/** The escapes are those of JSON, so JSON keeps its value. */
function escaped(text: string): string {
  return text.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
