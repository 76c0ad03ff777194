import { type TOptional, type TSchema, type TUnsafe, Type } from 'typebox'

/**
 * - `required`, `optional`: since the first release. A payload with another value is unreadable.
 * - `added`: optional, since a later release. Older payloads, which stay readable, may have anything under its name.
 *   So a reader ignores other values.
 * - `announced`: like `added`, but not accepted from clients yet.
 */
export type Presence = 'required' | 'optional' | 'added' | 'announced'
export type Value = string | bigint

/** In payloads, entries and hashes each value is a text. */
type Declared = {
  presence: Presence
  schema: TSchema
  /** Documents show the first ones together, and the last ones of the required fields. */
  examples: readonly Value[]
  /** The value of a well-formed text; undefined if there is none. */
  parse(text: string): Value | undefined
  maxBytes: number
}
export type Declaration = Readonly<Record<string, Declared>>
export type Field = Declared & { name: string; isLater: boolean }
export type FieldValues = { readonly [name: string]: Value | undefined }

const MAX_BYTES_PER_CODE_POINT = 4
const MAX_INT64_DIGITS = 20
export const MAX_FIELDS = 16
/** apply.lua reads the length of an entry from two bytes. */
const MAX_CONTENT_BYTES = 65_000
const NAME = /^[a-z][A-Za-z0-9]*$/
/** Names of other properties in events of the consumer library, exports and verifications. */
export const RESERVED = 'id eventId time partition offset traceparent position event unreadable'.split(' ')
const CANONICAL_INT64 = /^(?:0|-?[1-9][0-9]{0,18})$/

const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

/** Parses canonical decimal (`-7`, `0`): two values are equal if and only if their canonical texts are equal. */
export function parseInt64(text: string): bigint | undefined {
  const value = CANONICAL_INT64.test(text) ? BigInt(text) : undefined
  return value !== undefined && isInt64(value) ? value : undefined
}

/** The JSON parser reads an integer as a bigint, so that every digit is kept. A number that is not int64 is rejected. */
export const Int64 = <V extends bigint>(description: string) =>
  Type.Refine(
    Type.Unsafe<V>({ format: 'int64', description }),
    (value: unknown) => typeof value === 'bigint' && isInt64(value),
    () => 'must be an integer between -9223372036854775808 and 9223372036854775807',
  )

/** Well-formed Unicode of at most this many code points. */
export function text<P extends Presence>(presence: P, description: string, examples: string[], maxLength: number) {
  const schema = Type.Refine(
    Type.String({ maxLength, description }),
    (value) => typeof value !== 'string' || value.isWellFormed(),
    () => 'must be well-formed Unicode, without unpaired surrogates',
  )
  const isShort = (value: string) => value.length <= 2 * maxLength && Array.from(value).length <= maxLength
  return {
    ...{ presence, examples, schema: Type.Unsafe<string>(schema), maxBytes: MAX_BYTES_PER_CODE_POINT * maxLength },
    parse: (value: string) => (value.length <= maxLength || isShort(value) ? value : undefined),
  }
}

/** Any int64, exact. */
export function int64<P extends Presence>(presence: P, description: string, examples: bigint[]) {
  return { presence, schema: Int64<bigint>(description), examples, maxBytes: MAX_INT64_DIGITS, parse: parseInt64 }
}

/** One text of a closed list. */
export function enumeration<const V extends string, P extends Presence>(presence: P, description: string, values: V[]) {
  return {
    ...{ presence, examples: values, schema: Type.Unsafe<V>({ type: 'string', enum: values, description }) },
    parse: (text: string) => values.find((value) => value === text),
    maxBytes: Math.max(...values.map((value) => Buffer.byteLength(value))),
  }
}

type Property<F> = F extends { presence: infer P; parse(text: string): infer V | undefined }
  ? P extends 'required'
    ? TUnsafe<V>
    : TOptional<TUnsafe<V>>
  : never
type Properties<D> = { [N in keyof D]: Property<D[N]> }
type Accepted<D extends Declaration> = {
  [N in keyof D as D[N]['presence'] extends 'announced' ? never : N]: D[N]
}

/** The fields that clients can set. */
export const acceptedFields = <D extends Declaration>(declaration: D) =>
  Object.fromEntries(Object.entries(declaration).filter(([, { presence }]) => presence !== 'announced')) as Accepted<D>

/** The properties of a schema with these fields. In a response, the serializer needs the type of an integer. */
export const propertiesOf = <D extends Declaration>(declaration: D, integer?: { type: 'integer' }) =>
  Object.fromEntries(
    Object.entries(declaration).map(([name, { presence, schema }]) => {
      const property = integer !== undefined && 'format' in schema ? { ...schema, ...integer } : schema
      return [name, presence === 'required' ? property : Type.Optional(property)]
    }),
  ) as Properties<D>

export type Fields<C extends FieldValues> = ReturnType<typeof fieldsOf<C>>

/**
 * The declared fields in their order, which never changes: a new one is the last one. Throws for a declaration that the
 * formats of events and entries do not allow.
 *
 * The first two fields are accessed by separate statements: a statement that accesses several names takes V8 three times
 * as long.
 */
export function fieldsOf<C extends FieldValues>(declaration: Declaration) {
  const fields = Object.entries(declaration).map(([name, field]): Field => {
    const { presence } = field
    return { name, ...field, isLater: presence === 'added' || presence === 'announced' }
  })
  const [first = '', second = '', ...others] = fields.map(({ name }) => name)
  const isWrong = (name: string) => !NAME.test(name) || RESERVED.includes(name) || name in {}
  if (
    fields.some(({ name }) => isWrong(name)) ||
    fields[0]?.presence !== 'required' ||
    fields.length > MAX_FIELDS ||
    fields.reduce((bytes, { maxBytes }) => bytes + maxBytes, 0) > MAX_CONTENT_BYTES
  )
    throw new Error('the declared fields do not fit into an entry, begin with an optional one or have reserved names')

  function valuesOf(content: C): (Value | undefined)[] {
    const values = [content[first], content[second]]
    for (const name of others) values.push(content[name])
    return values
  }

  /** The content with these values, in the order of the fields. */
  function contentOf(values: readonly (Value | undefined)[]): C {
    const one = values[0]
    const two = values[1]
    const content: Record<string, Value | undefined> =
      two === undefined ? { [first]: one } : { [first]: one, [second]: two }
    for (let index = 0; index < others.length; index++) {
      const value = values[index + 2]
      if (value !== undefined) content[others[index] as string] = value
    }
    return content as C
  }

  const examplesOf = (pick: (field: Field) => Value | undefined) => contentOf(fields.map(pick))

  return {
    fields,
    /** Examples with all fields that clients can set, and with the required fields alone. */
    examples: {
      full: examplesOf(({ presence, examples }) => (presence === 'announced' ? undefined : examples[0])),
      bare: examplesOf(({ presence, examples }) => (presence === 'required' ? examples.at(-1) : undefined)),
    },
    valuesOf,
    contentOf,

    /** A plain copy that has the declared fields and no others. */
    copyOf: (content: C): C => contentOf(valuesOf(content)),

    /** The length of all its texts together, in UTF-16 code units. */
    textLengthOf: (content: C): number => {
      let length = 0
      for (const value of valuesOf(content)) if (value !== undefined) length += textOf(value).length
      return length
    },

    textsOf: (content: C) => contentOf(valuesOf(content).map(textOf) as Value[]) as Record<string, string>,
  }
}

/** The text of a value, of which `parse` returns the value. */
export const textOf = <V extends Value | undefined>(value: V) =>
  (typeof value === 'bigint' ? value.toString() : value) as V extends bigint ? string : V
