import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const columns = '(id INTEGER PRIMARY KEY, name TEXT, tag TEXT)'
// NORMAL: a power cut may take the last transactions away, but never a part of one. The log has all of it.
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS plant ${columns};
  CREATE TABLE IF NOT EXISTS read_up_to (partition INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL);
`

/** A plant whose event can't be read has no name: its id is given away all the same. */
export type Row = { id: bigint; name: string | null; tag: string | null }

/** A table of plants that others read, and that can be made anew beneath them. */
export function openPlantTable(file: string) {
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file, { readBigInts: true })
  database.exec(SCHEMA)

  function transact(work: () => void): void {
    database.exec('BEGIN IMMEDIATE')
    try {
      work()
      database.exec('COMMIT')
    } catch (error) {
      database.exec('ROLLBACK')
      throw error
    }
  }

  return {
    /** A new table beside the one in use. One that an earlier rebuild left unfinished goes. */
    beginAnew() {
      database.exec(`DROP TABLE IF EXISTS plant_new; CREATE TABLE plant_new ${columns}`)
      const insert = database.prepare('INSERT OR IGNORE INTO plant_new (id, name, tag) VALUES (?, ?, ?)')
      return {
        add: (rows: readonly Row[]) =>
          transact(() => {
            for (const { id, name, tag } of rows) insert.run(id, name, tag)
          }),

        /** The new table takes the place of the old one in one step: a reader sees the one or the other, whole. */
        switchTo: (positions: ReadonlyMap<number, number>) =>
          transact(() => {
            database.exec('DROP TABLE plant; ALTER TABLE plant_new RENAME TO plant; DELETE FROM read_up_to')
            const note = database.prepare('INSERT INTO read_up_to (partition, next_offset) VALUES (?, ?)')
            for (const [partition, next] of positions) note.run(partition, next)
          }),
      }
    },

    rowOf: (id: bigint) => database.prepare('SELECT * FROM plant WHERE id = ?').get(id) as Row | undefined,
    all: () => database.prepare('SELECT * FROM plant ORDER BY id').iterate() as Iterable<Row>,
    close: () => database.close(),
  }
}
