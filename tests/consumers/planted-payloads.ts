// Payloads of version 1, and payloads that only look like version 1. Each is made for one id.

export type Payload = (id: string) => Buffer | null

const text =
  (write: (id: string) => string): Payload =>
  (id) =>
    Buffer.from(write(id))
const bytes = (...parts: (string | readonly number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))
/** A payload with this JSON as the value of its name. */
const named = (json: string): Payload => text((id) => `{"id":"${id}","name":${json}}`)
/** A payload with this JSON after its name. */
const more = (json: string): Payload => text((id) => `{"id":"${id}","name":"more",${json}}`)
/** A payload with this text before the value of its name. */
const between = (json: string): Payload => text((id) => `{"id":"${id}","name":${json}"between"${json}}`)
/** A payload whose name has these bytes in it. */
const inName =
  (...parts: number[]): Payload =>
  (id) =>
    bytes(`{"id":"${id}","name":"a`, parts, 'z"}')

const LONGEST = 1_000
const LEVELS = 64
/** A reader that starts over at each quote takes half a minute for one such record. */
const QUOTES = 40_000
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** 512 names of nine pairs each, either Ab or BA. */
const ALIKE = Array.from({ length: 512 }, (_, index) => {
  const name = index.toString(2).padStart(9, '0').replaceAll('0', 'Ab').replaceAll('1', 'BA')
  return `"${name}":1`
}).join(',')

/** All that JSON allows to write a plant. */
export const READABLE: Record<string, Payload> = {
  'as it is written': named('"Fern"'),
  'a tag': more('"tag":"shade"'),
  'an empty name': named('""'),
  'an empty tag': more('"tag":""'),
  'the longest name': named(`"${'n'.repeat(LONGEST)}"`),
  'the longest name, beyond 16 bits': named(`"${'\u{1f331}'.repeat(LONGEST)}"`),
  'the longest name, all of it escaped': named(`"${escaped('n').repeat(LONGEST)}"`),
  'the longest name, of pairs of escapes': named(`"${'\\ud83c\\udf31'.repeat(LONGEST)}"`),
  'the longest name, of marks that combine': named(`"e${'\u0301'.repeat(LONGEST - 1)}"`),
  'the longest tag': more(`"tag":"${'ü'.repeat(LONGEST)}"`),
  'every short escape': named(String.raw`"\"\\\/\b\f\n\r\t"`),
  'an escaped NUL': named(String.raw`"a\u0000z"`),
  'upper-case escapes': named(String.raw`"\u00DC\u00dc"`),
  'what need not be escaped': named('"\u007f\u0085\u00a0\u2028\u2029\ufeff\ufffe\uffff\u{10ffff}"'),
  'a mark before all else in a text': named('"\ufeffname"'),
  'two spellings of one letter': more('"tag":"\u00e9 e\u0301"'),
  'another order': text((id) => `{"tag":"t","name":"other order","id":"${id}"}`),
  'white space': text((id) => ` \t\r\n{ "id"\n:\t"${id}" ,\r"name" : "white space" } \n`),
  'escapes in the names of members': text((id) => `{"\\u0069d":"${id}","n\\u0061me":"escaped member"}`),
  'escapes in the id': text((id) => `{"id":"${Array.from(id, escaped).join('')}","name":"escaped id"}`),
  'a name twice': more('"name":"the last counts"'),
  'a bad name before a good one': text((id) => `{"name":7,"id":"${id}","name":"good"}`),
  'a lone surrogate before a good name': text((id) => `{"name":"\\ud800","id":"${id}","name":"good"}`),
  'an id twice': text((id) => `{"id":7,"name":"id twice","id":"${id}"}`),
  'a bad tag before a good one': more('"tag":null,"tag":"good"'),
  'unknown members': more('"price":1.5,"colours":["green",{"a":null}],"x":true,"y":false,"":"","Name":7'),
  'members that mean something elsewhere': more('"__proto__":{"tag":7},"constructor":1,"toString":null'),
  'nested as deep as may be': more(`"deep":${nested(LEVELS - 1)}`),
  'brackets in a text that are no levels': more(`"deep":"${'[{'.repeat(LEVELS)}\\"${'[{'.repeat(LEVELS)}"`),
  'a number beyond doubles': more('"much":1e999,"little":-1e-999,"zero":-0,"exact":12345678901234567890'),
  'a number of many digits': more(`"digits":${'9'.repeat(20_000)},"fraction":0.${'1'.repeat(20_000)}`),
  'a member of a long name': more(`"${'m'.repeat(60_000)}":1`),
  'a lone surrogate where nobody looks': more(String.raw`"other":"\udc00","\ud800":1`),
  'members whose names are alike to a hash that multiplies by 33': more(`"alike":{${ALIKE}}`),
  'a large member that nobody knows': more(`"large":"${'x'.repeat(20_000)}"`),
}

/** Payloads that are not of version 1, though one parser or another accepts them. */
export const UNREADABLE: Record<string, Payload> = {
  'no payload': () => null,
  nothing: text(() => ''),
  'white space only': text(() => ' \n'),
  'no object': text(() => '"text"'),
  null: text(() => 'null'),
  'a list': text((id) => `[{"id":"${id}","name":"listed"}]`),
  'no id': text(() => '{"name":"no id"}'),
  'an id that is a number': text((id) => `{"id":${id},"name":"number"}`),
  'the id of another plant': text((id) => `{"id":"${id}0","name":"another"}`),
  'the id in another spelling': text((id) => `{"id":" ${id}","name":"spelled"}`),
  'a bad id after a good one': text((id) => `{"id":"${id}","name":"twice","id":null}`),
  'no name': text((id) => `{"id":"${id}"}`),
  'a name in capitals': text((id) => `{"id":"${id}","Name":"capital"}`),
  'a name that is null': named('null'),
  'a name that is a number': named('7'),
  'a name that is a list': named('["name"]'),
  'a bad name after a good one': more('"name":null'),
  'a name that is too long': named(`"${'n'.repeat(LONGEST + 1)}"`),
  'a name that is too long, beyond 16 bits': named(`"${'\u{1f331}'.repeat(LONGEST + 1)}"`),
  'a name that is too long, though it shows one letter': named(`"e${'\u0301'.repeat(LONGEST)}"`),
  'a tag that is too long': more(`"tag":"${'t'.repeat(LONGEST + 1)}"`),
  'a tag that is null': more('"tag":null'),
  'a tag that is a number': more('"tag":7'),
  'the first half of a pair': named(String.raw`"\ud83c"`),
  'the second half of a pair': named(String.raw`"\udf31"`),
  'a pair in the wrong order': named(String.raw`"\udf31\ud83c"`),
  'half a pair in the tag': more(String.raw`"tag":"a\ud800z"`),
  'two payloads': text((id) => `{"id":"${id}","name":"one"}{"id":"${id}","name":"two"}`),
  'something behind': text((id) => `{"id":"${id}","name":"behind"} x`),
  'a NUL behind': (id) => bytes(`{"id":"${id}","name":"behind"}`, [0]),
  'cut off': text((id) => `{"id":"${id}","name":"cut o`),
  'a comma too many': text((id) => `{"id":"${id}","name":"comma",}`),
  'a comment': text((id) => `{"id":"${id}",/* why */"name":"comment"}`),
  'single quotes': text((id) => `{'id':'${id}','name':'quotes'}`),
  'no quotes': text((id) => `{id:"${id}",name:"none"}`),
  'not a number': more('"x":NaN'),
  infinity: more('"x":-Infinity'),
  'a number with a plus': more('"x":+1'),
  'a number with a zero before it': more('"x":01'),
  'a number that begins with its point': more('"x":.5'),
  'a number that ends with its point': more('"x":1.'),
  'a number in hexadecimal': more('"x":0x1f'),
  'a number without an exponent': more('"x":1e'),
  'a word in capitals': more('"x":True'),
  'a list that ends with a comma': more('"x":[1,]'),
  'nested too deep': more(`"deep":${nested(LEVELS)}`),
  'nested far too deep': more(`"deep":${nested(20_000)}`),
  'objects nested too deep': more(`"deep":${'{"a":'.repeat(LEVELS)}1${'}'.repeat(LEVELS)}`),
  'nested too deep where another member counts': more(`"tag":${nested(LEVELS)},"tag":"t"`),
  'a raw line break': named('"a\nz"'),
  'a raw NUL': named('"a\u0000z"'),
  'a raw tab': named('"a\tz"'),
  'an unknown escape': named(String.raw`"\x41"`),
  'an escape of three digits': named(String.raw`"\u00g0"`),
  'an escape with a digit of another script': named('"\\u00\u06633"'),
  'an escape with a letter that ends in the byte of another one': named('"\\u00\u01613"'),
  'a text without end, of many quotes': text((id) => `{"id":"${id}","name":"${'\\"'.repeat(QUOTES)}`),
  'an escaped line break': named('"a\\\nz"'),
  'a form feed as white space': between('\f'),
  'a hard space as white space': between('\u00a0'),
  'a byte order mark': (id) => bytes([0xef, 0xbb, 0xbf], `{"id":"${id}","name":"marked"}`),
  'UTF-16': (id) => Buffer.from(`{"id":"${id}","name":"wide"}`, 'utf16le'),
  'UTF-16 with its mark': (id) => Buffer.from(`\ufeff{"id":"${id}","name":"wide"}`, 'utf16le'),
  'UTF-32': (id) => bytes(...Array.from(`{"id":"${id}","name":"wider"}`, (c) => [0, 0, 0, c.charCodeAt(0)])),
  'Latin-1': inName(0xfc),
  'UTF-8 that is longer than it need be': inName(0xc0, 0x80),
  'a surrogate in UTF-8': inName(0xed, 0xa0, 0x80),
  'a pair of surrogates in UTF-8': inName(0xed, 0xa0, 0xbc, 0xed, 0xbc, 0xb1),
  'UTF-8 beyond Unicode': inName(0xf4, 0x90, 0x80, 0x80),
  'UTF-8 that is cut off': inName(0xf0, 0x9f, 0x8c),
  'bytes that are no UTF-8 where nobody looks': (id) => bytes(`{"id":"${id}","name":"n","other":"`, [0xff], '"}'),
}
