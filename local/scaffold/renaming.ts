/** The name of a service's records in the singular and the plural, in lower case. */
export type Name = { name: string; plural: string }

/**
 * The word as a part of names in any case. A word that contains it by accident, such as "transplant", is another word;
 * `plantctl`, and `plantstore` in the anchor of a heading, are not.
 */
const WORD = [
  '(?<![a-z])plants?(?=ctl(?![a-z])|store|(?![a-z]))',
  'Plants?(?=ctl(?![a-z])|(?![a-z]))',
  '(?<![A-Z])PLANTS?(?=CTL(?![A-Z])|(?![A-Z]))',
].join('|')
const WORDS = new RegExp(WORD, 'g')
/** An article before the word, also at the end of a line of prose or of a comment. */
const ARTICLES = new RegExp(String.raw`\b([Aa])(?=(?:[\s\`'"*_([]|//|#|--)+(?:${WORD}))`, 'g')
/** The words that are spoken with a vowel first. */
const AFTER_AN = /^(?!uni|use|eu|one)[aeiou]|^(?:hour|heir|honou?r)/

/** A function that renames each plant in a text. */
export function renamingTo({ name, plural }: Name): (text: string) => string {
  const article = AFTER_AN.test(name) ? 'n' : ''
  const inCase = (word: string, like: string) => {
    if (like === like.toUpperCase()) return word.toUpperCase()
    return like.startsWith('P') ? word.charAt(0).toUpperCase() + word.slice(1) : word
  }
  const of = (word: string) => inCase(/s$/i.test(word) ? plural : name, word)
  return (text) => text.replace(ARTICLES, `$1${article}`).replace(WORDS, of)
}

const CODE = /\.(?:[jt]s|mjs|lua|py|java)$/
/** Comments and texts, in the languages of the code, except for code in template literals. */
const NOT_CODE =
  /\/\*[\s\S]*?\*\/|--\[\[[\s\S]*?\]\]|(?:\/\/|#|--\s).*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
const IDENTIFIER = /(?<![\w$.])[A-Za-z_$][\w$]*(?![\w$]|\s*:)/g

const embedded = (text: string) => (text.startsWith('`') ? (text.match(/\$\{[^}]*\}/g) ?? []).join(' ') : ' ')

/**
 * The identifiers and keywords in a file of code; none in other files. A word after a dot or before a colon is the name
 * of a property, which cannot collide with a variable.
 */
function identifiersOf(path: string, text: string): Set<string> {
  return new Set(CODE.test(path) ? text.replace(NOT_CODE, embedded).match(IDENTIFIER) : [])
}

/** A sentence for each two files, and each two identifiers of a file, that would get one name. */
export function* collisionsOf(files: ReadonlyMap<string, string>, rename: (text: string) => string): Generator<string> {
  const equal = (what: string, names: Iterable<string>, renamed: (name: string) => string) => {
    const before = [...names]
    const known = new Set(before)
    return before
      .filter((one) => renamed(one) !== one && known.has(renamed(one)))
      .map((one) => `${what} ${one} and ${renamed(one)}`)
  }
  yield* equal('the files', files.keys(), rename)
  for (const [path, text] of files) yield* equal(`in ${path},`, identifiersOf(path, text), rename)
}
