import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { type LogRecord, PARKED, readRecord, type StoredRecord } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { firstWins } from '@plant-store/shared/protocol/first-wins.ts'
import { describe, expect, it } from 'vitest'
import { WITH_VERSION_2 } from './support/version-2.ts'

/** A line of the corpus; docs/reference/events.md describes the fields. */
type Line = {
  partitions: number
  partition: Partition
  offset: number
  key: string | null
  value: string | null
  headers: [name: string, value: string | null][]
  read: { is: string; reason?: string; id?: string; eventId?: string; name?: string; tag?: string }
  ruling?: string
  about: string
}

/** What was released: lines are only ever added after these, and then these figures grow. */
const RELEASED = {
  lines: 185,
  sha256: '19331800e2abd954b3ed6a567ef6a123dbf03ed66f27ae13ae609d61d4869bad',
}

const text = readFileSync(new URL('../docs/corpus/version-1.jsonl', import.meta.url), 'utf8')
const lines = text.split('\n').slice(0, -1)
const corpus = lines.map((line): Line => JSON.parse(line))
const reasons = new Map<number, string>(Object.entries(PARKED).map(([name, number]) => [number, name]))

describe('the corpus', () => {
  it.each(corpus.map((line): [string, Line] => [`${line.partition}-${line.offset}, ${line.about}`, line]))(
    'is read as it was when it was written: %s',
    (_name, line) => {
      const { claim, parked } = readRecord(stored(line), line.partition, line.partitions)
      expect(readOf(claim, parked)).toEqual(line.read)
    },
  )

  it('is one log in which the first claim of an id wins', () => {
    const ends = new Map<Partition, number>()
    const firsts = new Map<string, { eventId: EventId }>()
    for (const line of corpus) {
      expect(line.offset, line.about).toBeGreaterThanOrEqual(ends.get(line.partition) ?? 0)
      ends.set(line.partition, line.offset + 1)
      const { claim } = readRecord(stored(line), line.partition, line.partitions)
      const ruling = claim && firstWins(firsts.get(claim.id.toString()), claim)
      expect(ruling, line.about).toBe(line.ruling)
      if (claim && ruling === 'created') firsts.set(claim.id.toString(), claim)
    }
  })

  it('reads the same in a release that knows one version more', () => {
    const ofVersion2 = new Set<string>()
    for (const line of corpus) {
      const args = [stored(line), line.partition, line.partitions] as const
      const [older, newer] = [readRecord(...args), readRecord(...args, WITH_VERSION_2)]
      if (older.parked === newer.parked) expect(newer, line.about).toEqual(older)
      // The payload may read differently; the claim may not.
      else ofVersion2.add(line.about)
      expect(idOf(newer), line.about).toEqual(idOf(older))
    }
    expect([...ofVersion2]).toEqual([
      'the version: a version to come',
      'an unknown version and no payload: the version is looked at first',
    ])
  })

  it('contains every reason and every ruling', () => {
    expect(new Set(corpus.flatMap(({ read }) => read.reason ?? []))).toEqual(new Set(reasons.values()))
    expect(new Set(corpus.flatMap(({ ruling }) => ruling ?? []))).toEqual(new Set(['created', 'repeated', 'void']))
  })

  it('is append-only and plain ASCII, so that every reader splits and reads its lines alike', () => {
    const released = `${lines.slice(0, RELEASED.lines).join('\n')}\n`
    expect(createHash('sha256').update(released).digest('hex')).toBe(RELEASED.sha256)
    expect(lines.length, 'note the new lines in RELEASED').toBe(RELEASED.lines)
    expect(text).toMatch(/^[\n\x20-\x7e]*\n$/)
  })
})

/** The record as kafkajs decodes it: a header that comes several times as a list. */
function stored({ offset, key, value, headers }: Line): StoredRecord {
  const decoded: Record<string, StoredRecord['headers'][string]> = {}
  for (const [name, content] of headers) {
    const earlier = decoded[name]
    const bytes = bytesOf(content)
    decoded[name] = earlier === undefined ? bytes : [earlier, bytes].flat()
  }
  return { offset: offsetOf(offset), key: bytesOf(key), value: bytesOf(value), headers: decoded }
}

function idOf({ claim }: LogRecord) {
  return claim && { id: claim.id, eventId: claim.eventId, offset: claim.offset }
}

function bytesOf(base64: string | null): Buffer | null {
  return base64 === null ? null : Buffer.from(base64, 'base64')
}

function readOf(claim: LogRecord['claim'], parked: number | undefined): Line['read'] {
  const reason = parked === undefined ? {} : { reason: reasons.get(parked) ?? 'a reason without a name' }
  if (claim === undefined) return { is: 'foreign', ...reason }
  const { id, eventId, plant } = claim
  return { is: plant === undefined ? 'unreadable' : 'readable', ...reason, id: `${id}`, eventId, ...plant }
}
