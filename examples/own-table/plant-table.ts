import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

// FULL: after a handler returns, its events are committed to Kafka and not delivered again. So they must be on disk.
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT);
  CREATE TABLE IF NOT EXISTS own (group_id TEXT NOT NULL);
`

/** A plant with an unreadable claim has no name, but keeps its id. */
export type Row = { id: bigint; name: string | null; tag?: string | null }

/** A table of plants in one SQLite file. */
export function openPlantTable(file: string) {
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file, { readBigInts: true })
  database.exec(SCHEMA)
  const insert = database.prepare('INSERT OR IGNORE INTO plants (id, name, tag) VALUES (?, ?, ?)')

  function insertAll(rows: readonly Row[]): void {
    for (const { id, name, tag = null } of rows) insert.run(id, name, tag)
  }

  return {
    /** Events are delivered at least once. A plant in the table stays as it is, because it never changes. */
    add(rows: readonly Row[]): void {
      database.exec('BEGIN IMMEDIATE')
      try {
        insertAll(rows)
        database.exec('COMMIT')
      } catch (error) {
        database.exec('ROLLBACK')
        throw error
      }
    },

    /**
     * Replaces all rows by those that `replay` adds, in one transaction: a reader sees the old ones or the new ones.
     * After an error, `close` keeps the old ones.
     */
    async rebuild(replay: (add: typeof insertAll) => Promise<void>): Promise<void> {
      database.exec('BEGIN IMMEDIATE; DELETE FROM plants')
      await replay(insertAll)
      database.exec('COMMIT')
    },

    /** The consumer group of this file. A new file has a new one, because a group keeps its position. */
    groupId(): string {
      database.prepare('INSERT INTO own SELECT ? WHERE NOT EXISTS (SELECT 1 FROM own)').run(`own-table-${randomUUID()}`)
      return String(database.prepare('SELECT group_id FROM own').get()?.group_id)
    },

    all: () => database.prepare('SELECT * FROM plants ORDER BY id').iterate() as Iterable<Row>,
    count: () => Number(database.prepare('SELECT count(*) AS count FROM plants').get()?.count),
    close: () => database.close(),
  }
}
