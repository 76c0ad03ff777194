import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { textsOf } from '@plant-store/shared/plant/plant.ts'
import { type LogRecord, PARKED, readRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { Partition } from '@plant-store/shared/plant/position.ts'
import { firstWins } from '@plant-store/shared/protocol/first-wins.ts'
import { describe, expect, it } from 'vitest'
import { CORPUS_FILES, type CorpusRecord, corpus, readCorpus } from './support/corpus.ts'
import { WITH_VERSION_2 } from './support/version-2.ts'

/** What was released of each file: lines are only ever added after these, and then these figures grow. */
const RELEASED = [
  { lines: 212, sha256: 'c602533d5d60d43bc16dab24ef5d2ca26aade76c7230379d114bcae7266d2d03' },
  { lines: 18, sha256: '439633744d1881acdce62eba37b71d796ce5da2c9a3112e2c25749bf1b3bd92d' },
]

const reasons = new Map<number, string>(Object.entries(PARKED).map(([name, number]) => [number, name]))

describe('the corpus', () => {
  it.each(CORPUS_FILES)(
    'is read as when it was written, and the first claim of an id wins in each file: %s',
    (file) => {
      const ends = new Map<Partition, number>()
      const firsts = new Map<string, { eventId: EventId }>()
      for (const { record, partition, partitions, read, ruling, about } of readCorpus(file)) {
        expect(record.offset, about).toBeGreaterThanOrEqual(ends.get(partition) ?? 0)
        ends.set(partition, record.offset + 1)
        const { claim, parked } = readRecord(record, partition, partitions)
        expect(readOf(claim, parked), about).toEqual(read)
        if (claim?.plant !== undefined) expect(Object.getPrototypeOf(claim.plant), about).toBe(Object.prototype)
        const found = claim && firstWins(firsts.get(claim.id.toString()), claim)
        expect(found, about).toBe(ruling)
        if (claim && found === 'created') firsts.set(claim.id.toString(), claim)
      }
    },
  )

  it('reads the same in a release that knows one version more', () => {
    const ofVersion2 = new Set<string>()
    for (const line of corpus) {
      const args = [line.record, line.partition, line.partitions] as const
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

  it('contains every reason and every ruling, and no id in two files', () => {
    expect(new Set(corpus.flatMap(({ read }) => read.reason ?? []))).toEqual(new Set(reasons.values()))
    expect(new Set(corpus.flatMap(({ ruling }) => ruling ?? []))).toEqual(new Set(['created', 'repeated', 'void']))
    const byFile = CORPUS_FILES.map((file) => new Set(readCorpus(file).flatMap(({ read }) => read.id ?? [])))
    const [one, other] = byFile as [Set<string>, Set<string>]
    expect([...one].filter((id) => other.has(id))).toEqual([])
  })

  it('is append-only and plain ASCII, so that every reader splits and reads its lines alike', () => {
    for (const [index, file] of CORPUS_FILES.entries()) {
      const text = readFileSync(file, 'utf8')
      const lines = text.split('\n').slice(0, -1)
      const { lines: count = 0, sha256 } = RELEASED[index] ?? {}
      const released = `${lines.slice(0, count).join('\n')}\n`
      expect(createHash('sha256').update(released).digest('hex')).toBe(sha256)
      expect(lines.length, 'note the new lines in RELEASED').toBe(count)
      expect(text).toMatch(/^[\n\x20-\x7e]*\n$/)
    }
  })
})

function idOf({ claim }: LogRecord) {
  return claim && { id: claim.id, eventId: claim.eventId, offset: claim.offset }
}

function readOf(claim: LogRecord['claim'], parked: number | undefined): CorpusRecord['read'] {
  const reason = parked === undefined ? {} : { reason: reasons.get(parked) ?? 'a reason without a name' }
  if (claim === undefined) return { is: 'foreign', ...reason }
  const { id, eventId, plant } = claim
  return {
    is: plant === undefined ? 'unreadable' : 'readable',
    ...reason,
    id: `${id}`,
    eventId,
    ...(plant && textsOf(plant)),
  }
}
