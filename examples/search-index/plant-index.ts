import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

// FULL: after a handler returns, its events are committed to Kafka and not delivered again. So they must be on disk.
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS own (group_id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT);
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    name, tag, content = plants, content_rowid = id, tokenize = 'unicode61 remove_diacritics 2'
  );
`

export type IndexedPlant = { id: bigint; name: string; tag?: string | null }

/** A full-text index of plants in one SQLite file. */
export function openPlantIndex(file: string) {
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file, { readBigInts: true })
  database.exec(SCHEMA)
  const insert = database.prepare('INSERT OR IGNORE INTO plants (id, name, tag) VALUES (?, ?, ?)')
  const insertWords = database.prepare('INSERT INTO words (rowid, name, tag) VALUES (?, ?, ?)')
  const search = database.prepare(
    'SELECT plants.* FROM words JOIN plants ON plants.id = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT ?',
  )
  const all = database.prepare('SELECT * FROM plants ORDER BY id')

  return {
    /**
     * The consumer group of this file. Its name is generated with the file, so a deleted file is filled again from
     * offset 0. A group with a fixed name would continue at its old position.
     */
    groupId(): string {
      database
        .prepare('INSERT INTO own SELECT ? WHERE NOT EXISTS (SELECT 1 FROM own)')
        .run(`search-index-${randomUUID()}`)
      return String(database.prepare('SELECT group_id FROM own').get()?.group_id)
    },

    /** Events are delivered at least once. An indexed plant stays as it is, because it never changes. */
    add(plants: readonly IndexedPlant[]): void {
      database.exec('BEGIN IMMEDIATE')
      try {
        for (const { id, name, tag = null } of plants) {
          if (insert.run(id, name, tag).changes > 0n) insertWords.run(id, name, tag)
        }
        database.exec('COMMIT')
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },

    /** Plants with all these words in name or tag, best match first. */
    search(words: string, limit: number): IndexedPlant[] {
      const quoted = words.split(/\s+/).map((word) => `"${word.replaceAll('"', '""')}"`)
      return search.all(quoted.join(' '), limit) as IndexedPlant[]
    },

    all: () => all.iterate() as Iterable<IndexedPlant>,
    count: () => Number(database.prepare('SELECT count(*) AS count FROM plants').get()?.count),
    close: () => database.close(),
  }
}
