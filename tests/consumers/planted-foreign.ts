import { type Partition, partitionOf } from '@plant-store/shared/plant/position.ts'

/** As kafkajs takes them: undefined is absent, a list is a header that comes several times. */
export type Headers = Record<string, Buffer | string | (Buffer | string)[] | undefined>

export type PlantedRecord = {
  partition: Partition
  key: Buffer | null
  value: Buffer | null
  headers: Headers
}

type Change = (record: PlantedRecord, partitions: number) => PlantedRecord

const header =
  (name: string, change: (value: string) => string | string[] | undefined): Change =>
  (record) => ({ ...record, headers: { ...record.headers, [name]: change(String(record.headers[name])) } })
const type = (change: (value: string) => string | string[] | undefined) => header('ce_type', change)
const eventId = (change: (value: string) => string | string[] | undefined) => header('ce_id', change)
/** A key of these bytes in the partition that murmur2 gives it: nothing else is wrong with it. */
const key =
  (change: (key: string) => string | Buffer): Change =>
  (record, partitions) => {
    const bytes = Buffer.from(change(String(record.key)))
    return { ...record, key: bytes, partition: partitionOf(bytes, partitions) }
  }

/** Changes that turn a record that claims an id into one that claims none. */
export const FOREIGN: Record<string, Change> = {
  'another type': type(() => 'PlantRemoved'),
  'a type in lower case': type((value) => value.toLowerCase()),
  'a type with a space': type((value) => `${value} `),
  'a type twice': type((value) => [value, value]),
  'two types': type((value) => [value, 'PlantRemoved']),
  'a type without content': type(() => ''),
  'no type': type(() => undefined),
  'no headers': (record) => ({ ...record, headers: {} }),
  'headers in capitals': (record) => ({
    ...record,
    headers: Object.fromEntries(Object.entries(record.headers).map(([name, value]) => [name.toUpperCase(), value])),
  }),

  'no event id': eventId(() => undefined),
  'an event id without content': eventId(() => ''),
  'an event id in capitals': eventId((value) => `${value.slice(0, -1)}A`),
  'an event id without dashes': eventId((value) => value.replaceAll('-', '')),
  'an event id in braces': eventId((value) => `{${value}}`),
  'an event id that is a URN': eventId((value) => `urn:uuid:${value}`),
  'an event id with a line break': eventId((value) => `${value}\n`),
  'an event id twice': eventId((value) => [value, value]),
  'two event ids': eventId((value) => [value, `0${value.slice(1)}`]),
  'an event id that is a word': eventId(() => 'plant-7'),

  'no key': (record) => ({ ...record, key: null }),
  'an empty key': key(() => ''),
  'a key with a plus': key((id) => `+${id.replace('-', '')}`),
  'a key with a zero before it': key((id) => id.replace(/^-?/, '$&0')),
  'a key with a space before it': key((id) => ` ${id}`),
  'a key with a line break': key((id) => `${id}\n`),
  'a key with a NUL': key((id) => `${id}\0`),
  'a key that is a decimal': key((id) => `${id}.0`),
  'a key with an exponent': key(() => '1e3'),
  'a key with an underscore': key(() => '1_000'),
  'a key in hexadecimal': key(() => '0x10'),
  'a key in other digits': key(() => '\u0667\u0668'),
  'a key with another minus': key(() => '\u22127'),
  'a key that is minus zero': key(() => '-0'),
  'a key that is a word': key(() => 'seven'),
  'a key in eight bytes': key(() => Buffer.from([0, 0, 0, 0, 0, 0, 0, 7])),
  'a key beyond int64': key(() => '9223372036854775808'),
  'a key before int64': key(() => '-9223372036854775809'),
  'a key far beyond int64': key(() => '9'.repeat(30)),
  'a key that is no text': key(() => Buffer.from([0x37, 0xff])),

  'the next partition': (record, partitions) => ({
    ...record,
    partition: ((record.partition + 1) % partitions) as Partition,
  }),
}
