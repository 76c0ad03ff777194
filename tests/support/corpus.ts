import { readFileSync } from 'node:fs'
import type { StoredRecord } from '@plant-store/shared/plant/plant-created.ts'
import { offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Message } from 'kafkajs'

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

export type CorpusRecord = Pick<Line, 'partitions' | 'partition' | 'read' | 'ruling' | 'about'> & {
  record: StoredRecord
}

/** The files of the corpus; each is the log of one topic. */
export const CORPUS_FILES = ['version-1', 'version-1-context'].map(
  (name) => new URL(`../../docs/corpus/${name}.jsonl`, import.meta.url),
)

/** The records of a file of the corpus, with what a reader has to make of them. */
export const readCorpus = (file: URL): CorpusRecord[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((text) => {
      const { partitions, partition, read, ruling, about, ...stored } = JSON.parse(text) as Line
      return { partitions, partition, read, about, record: recordOf(stored), ...(ruling !== undefined && { ruling }) }
    })

/** The records of all files. No id is in two of them. */
export const corpus: readonly CorpusRecord[] = CORPUS_FILES.flatMap(readCorpus)

/** The record as kafkajs decodes it: a header that comes several times as a list. */
function recordOf({ offset, key, value, headers }: Pick<Line, 'offset' | 'key' | 'value' | 'headers'>): StoredRecord {
  const byName = Map.groupBy(headers, ([name]) => name)
  const decoded = [...byName].map(([name, all]) => {
    const contents = all.map(([, content]) => bytesOf(content))
    return [name, contents.length === 1 ? contents[0] : contents]
  })
  return { offset: offsetOf(offset), key: bytesOf(key), value: bytesOf(value), headers: Object.fromEntries(decoded) }
}

function bytesOf(base64: string | null): Buffer | null {
  return base64 === null ? null : Buffer.from(base64, 'base64')
}

/** The record for a producer. kafkajs writes no header without a value; one that is absent has the same effect. */
export function messageOf(record: Omit<StoredRecord, 'offset'> & { partition: Partition }): Message {
  const withValue = Object.entries(record.headers).flatMap(([name, content]) => {
    const values = [content ?? []].flat().filter((value) => value !== null)
    return values.length === 0 ? [] : [[name, values]]
  })
  return { ...record, headers: Object.fromEntries(withValue) }
}
