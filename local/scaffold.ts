import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './places.mjs'
import { endOf, runCommand } from './processes/command.ts'
import { Failure, runProgram } from './processes/failure.mjs'
import { completingWith } from './scaffold/completing.ts'
import { type Field, fieldsOf } from './scaffold/fields.ts'
import { collisionsOf, type Name, renamingTo } from './scaffold/renaming.ts'

const HELP = `A service of your own: a copy of this one under another name, in a Git repository of its own.

  npm run scaffold -- --name order --plural orders --field customer:text --field 'state:enum(open|paid)?' ../orders

  --name NAME           what the service stores, in the singular: one English word in lower case
  --plural NAMES        the same in the plural; default: NAME with an s
  --field 'NAME:KIND?'  a further field, next to name and tag; any number of times. KIND is text, int64, or
                        enum(A|B) with the possible values. The ? says that it is optional.
  FOLDER                the copy; it must not exist yet

Every name follows: POST /orders, OrderCreated, the topic, ORDERS_TOPIC, metrics, alerts, the chart, the image, orderctl,
the documents, files and folders. The copy knows nothing of this repository. In it, npm start, npm run check, npm test
and npm run simulate work as here. docs/how-to/a-service-of-your-own.md continues from there.
`
const TIMEOUT_MS = 600_000
/** Words of TypeScript, Python, Java and Lua that no variable can have as its name, except those that the code has. */
const RESERVED_WORDS = (
  'abstract and assert boolean byte char def del double elif enum end except extends final finally float global goto ' +
  'implements interface is lambda local long native nil nonlocal not or package pass private protected public raise ' +
  'repeat short static super synchronized then throws transient until volatile with yield'
).split(' ')
const COLLISIONS_SHOWN = 5
/** Files of this service alone. */
const LEFT_OUT = /^(?:CHANGELOG\.md|docs\/how-to\/a-service-of-your-own\.md|(?:local|tests)\/scaffold.*)$/
/** Lines that name it. */
const LEFT_OUT_LINE = /^.*(?:scaffold|a-service-of-your-own).*\n/gm
/** The licence, which names its authors; measurements and pictures of this service. */
const KEPT = /^(?:LICENSE|docs\/(?:bench|images)\/.*)$/
/** Records with their bytes in base64, of which a test knows the SHA-256. */
const CORPUS = /^docs\/corpus\//
/** Inputs with lengths and checksums. */
const FUZZ_CORPUS = /^tests\/fuzz\/corpus\//
const DECLARATION = 'shared/src/plant/plant.ts'
const CHANGELOG = `# Changelog

The format is [Keep a Changelog](https://keepachangelog.com/en/1.1.0/); versions follow
[Semantic Versioning](https://semver.org/spec/v2.0.0.html).

## [Unreleased]
`

/** Resolves to the exit code. */
async function main(args: string[]): Promise<number> {
  const options = readOptions(args)
  const { name, plural, folder } = options
  const rename = renamingTo(options)
  const paths = (await run('git', ['ls-files', '-z'], root)).split('\0').filter((path) => path && !LEFT_OUT.test(path))
  const isText = (path: string) => !KEPT.test(path) && lstatSync(join(root, path)).isFile()
  const texts = new Map(
    paths.filter(isText).map((path) => [path, readFileSync(join(root, path), 'utf8').replace(LEFT_OUT_LINE, '')]),
  )
  const collisions = [...collisionsOf(texts, rename)]
  const shown = collisions.slice(0, COLLISIONS_SHOWN).map((collision) => `\n  ${collision}`)
  if (collisions.length > 0)
    throw new Failure(
      `--name ${name} is a word of the code: ${collisions.length} times two names would become one. Give another word.` +
        shown.join(''),
    )
  await run('git', ['var', 'GIT_COMMITTER_IDENT'], root)

  const renamed = renamedTexts(options, texts, rename)
  for (const path of paths) {
    const [from, to] = [join(root, path), join(folder, rename(path))]
    if (lstatSync(from).isSymbolicLink()) symlinkSync(rename(readlinkSync(from)), to)
    // Also makes the folders, and keeps who may run the file.
    else cpSync(from, to)
    if (texts.has(path)) writeFileSync(to, renamed.get(path) ?? '')
  }
  writeFileSync(join(folder, 'CHANGELOG.md'), CHANGELOG)

  await run('git', ['init', '--quiet', '--initial-branch', 'main'], folder)
  console.log(`${paths.length + 1} files in ${folder}. Installing its packages …`)
  for (const script of ['format', 'describe']) await run('npm', ['run', script], folder)
  await run('git', ['add', '--all'], folder)
  await run('git', ['commit', '--quiet', '--message', `Scaffold a service for ${plural}`], folder)
  console.log(`
Done. Now:
  cd ${folder}
  npm start           # Kafka, Redis and the service; prints how to create the first ${name}
  npm run check
  npm test`)
  return 0
}

/** The files with their texts in the copy, by their former paths. */
function renamedTexts({ fields }: Options, texts: ReadonlyMap<string, string>, rename: Rename): Map<string, string> {
  const hashes = new Map<string, string>()
  const renamed = new Map<string, string>()
  const complete = completingWith(fields)
  for (const [path, text] of texts) {
    const isCorpus = CORPUS.test(path)
    const others = FUZZ_CORPUS.test(path) ? text : complete.records(text)
    const completed = isCorpus ? complete.found(replacedBytes(text, complete.payload)) : others
    renamed.set(path, rename(isCorpus ? replacedBytes(completed, rename) : completed))
    if (isCorpus) hashes.set(sha256(text), sha256(renamed.get(path) ?? ''))
  }
  const knowing = 'tests/event-corpus.unit.test.ts'
  for (const [before, after] of hashes) renamed.set(knowing, (renamed.get(knowing) ?? '').replace(before, after))
  renamed.set(DECLARATION, declaring(fields, renamed.get(DECLARATION) ?? ''))
  return renamed
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Replaces the texts that are in base64. */
const replacedBytes = (jsonLines: string, replace: (text: string) => string) =>
  jsonLines.replace(/"([\w+/]{8,}=*)"/g, (quoted, base64) => {
    const bytes = Buffer.from(base64, 'base64')
    if (!isUtf8(bytes) || bytes.toString('base64') !== base64) return quoted
    return `"${Buffer.from(replace(bytes.toString())).toString('base64')}"`
  })

/** The declaration with further fields, required ones first, and the functions that they call. */
function declaring(fields: readonly Field[], text: string): string {
  const [start = '', rest = ''] = text.split(/(?<=^const FIELDS = \{\n(?: {2}.*\n)*)(?=\})/m)
  const [clause = ''] = /import \{[^}]*\} from '\.\/fields\.ts'/.exec(start) ?? []
  const kinds = [...new Set(fields.map(({ kind }) => kind))].filter((kind) => !new RegExp(`\\b${kind}\\b`).test(clause))
  const importing = start.replace(clause, clause.replace(/(?=,?\s*\})/, kinds.map((kind) => `, ${kind}`).join('')))
  const linesOf = (isRequired: boolean) =>
    fields.filter(({ required }) => (required !== undefined) === isRequired).map(({ line }) => `  ${line}\n`)
  const declaredFirst = importing.replace(/(?<=^ {2}name: .*\n)/m, linesOf(true).join(''))
  return `${declaredFirst}${linesOf(false).join('')}${rest}`
}

type Rename = (text: string) => string
type Options = Name & { folder: string; fields: readonly Field[] }

export function readOptions(args: string[]): Options {
  const options = {
    name: { type: 'string' },
    plural: { type: 'string' },
    field: { type: 'string', multiple: true },
  } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const { name = '', plural = `${name}s` } = values
  for (const [option, word] of Object.entries({ name, plural }))
    if (!/^[a-z]{2,30}$/.test(word))
      throw new Failure(`--${option} "${word}": give one English word of 2 to 30 lower-case letters, such as "order".`)
  for (const word of [name, plural].filter((one) => RESERVED_WORDS.includes(one)))
    throw new Failure(`"${word}" is a reserved word of a language that the code is written in: give another name.`)
  if (plural === name) throw new Failure(`--plural ${plural}: give a word that differs from --name.`)
  const [given, ...more] = positionals
  if (given === undefined || more.length > 0) throw new Failure('Give one folder for the copy, such as ../orders.')
  // npm runs this in the folder of the project, whatever the caller's is.
  const folder = resolve(process.env.INIT_CWD ?? '.', given)
  if (existsSync(folder)) throw new Failure(`${folder} exists: give a folder that does not exist yet, or delete it.`)
  if (folder.startsWith(root))
    throw new Failure(`${folder} is in this repository: give a folder outside, such as ../orders.`)
  return { name, plural, folder, fields: fieldsOf(values.field ?? [], name) }
}

/** Its output. Throws a Failure if the command fails. */
async function run(command: string, args: string[], cwd: string): Promise<string> {
  const { code, output, missing } = await runCommand(command, args, { cwd, timeoutMs: TIMEOUT_MS })
  if (missing) throw new Failure(`${command} not found: install it.`)
  if (code !== 0) throw new Failure(`${[command, ...args].join(' ')} failed in ${cwd}:\n${endOf(output, 20)}`)
  return output
}

if (import.meta.main) await runProgram(main, HELP)
