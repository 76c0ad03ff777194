import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const columns = '(id INTEGER PRIMARY KEY, name TEXT, tag TEXT)'
// NORMAL: a power failure may undo the last transactions, but never a part of one. The log has everything.
const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS plants ${columns};
  CREATE TABLE IF NOT EXISTS read_up_to (partition INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL);
`

/** A plant with an unreadable claim has no name, but keeps its id. */
export type Row = { id: bigint; name: string | null; tag: string | null }

/** A table of plants that can be rebuilt while others read it. */
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
    /** A new table next to the one in use. Ends an unfinished rebuild, also one that is under way. */
    startRebuild() {
      const own = `plants_new_${randomUUID().replaceAll('-', '')}`
      transact(() => {
        const unfinished = database.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'plants_new_*'").all()
        for (const { name } of unfinished) database.exec(`DROP TABLE ${String(name)}`)
        database.exec(`CREATE TABLE ${own} ${columns}`)
      })
      const insert = database.prepare(`INSERT OR IGNORE INTO ${own} (id, name, tag) VALUES (?, ?, ?)`)
      return {
        add: (rows: readonly Row[]) =>
          transact(() => {
            for (const { id, name, tag } of rows) insert.run(id, name, tag)
          }),

        /** The new table replaces the old one in one step: a reader sees all of one or of the other. */
        switchTo: (positions: ReadonlyMap<number, number>) =>
          transact(() => {
            database.exec(`DROP TABLE plants; ALTER TABLE ${own} RENAME TO plants; DELETE FROM read_up_to`)
            const note = database.prepare('INSERT INTO read_up_to (partition, next_offset) VALUES (?, ?)')
            for (const [partition, next] of positions) note.run(partition, next)
          }),
      }
    },

    all: () => database.prepare('SELECT * FROM plants ORDER BY id').iterate() as Iterable<Row>,
    close: () => database.close(),
  }
}
