import type { DatabaseSync } from 'node:sqlite'
import type { TopicSettings } from '../../event-log/topic-configuration.ts'
import { parseEventId } from '../../plant/event-id.ts'
import type { PlantId } from '../../plant/plant.ts'
import type { LogRecord } from '../../plant/plant-created.ts'
import { type Offset, offsetOf, type Partition } from '../../plant/position.ts'
import { BEFORE_LOG, type Checkpoint } from '../../protocol/checkpoint.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { type FirstClaims, firstAmong, type OpenFirstClaims } from './first-claims.ts'

/** 'Plnt': distinguishes files of first claims from other SQLite databases. */
const APPLICATION_ID = 0x506c6e74
const FORMAT_VERSION = 1
const CACHE_KIB = 65_536

const SCHEMA = `
  CREATE TABLE log (topic TEXT NOT NULL, partitions INTEGER NOT NULL) STRICT;
  CREATE TABLE checkpoints (partition INTEGER PRIMARY KEY, offset INTEGER NOT NULL, event TEXT NOT NULL) STRICT;
  CREATE TABLE claims (
    partition INTEGER NOT NULL, id INTEGER NOT NULL, offset INTEGER NOT NULL, PRIMARY KEY (partition, id)
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT_VERSION};
`

// SQLite's error codes that have an explanation for the user (sqlite.org/rescode.html).
const [BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB] = [5, 8, 10, 11, 13, 14, 26]
/** For failures that may pass. */
const REMEDIES: Record<number, string> = { [FULL]: 'free space on its disk', [IOERR]: 'check its disk' }

/**
 * Stores the first claims in a SQLite file: after a restart, reading continues where it ended. Each consumer needs a
 * separate file on a local disk; it takes 15 to 25 bytes per plant. A lost or deleted file is rebuilt from the log. The
 * error for a file of another topic, a damaged file, or a file that is in use says what to do.
 */
export const inFile = (path: string): FirstClaims => ({ open: (log) => openClaimFile(path, log) })

/**
 * The first claims of a topic in a SQLite file that only this process may use. Records and the checkpoint after them
 * are written in one transaction, so that the process may be killed at any point; what is lost with a disk cache is
 * read again. Throws a PreconditionError for a file that cannot be used, and does not change it.
 */
async function openClaimFile(path: string, log: TopicSettings): Promise<OpenFirstClaims> {
  // SQLite would create a temporary database for an empty one.
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw new PreconditionError('inFile needs the path of a file')
  // Imported only here: Node 24 prints a warning in each process that loads it.
  const { DatabaseSync } = await import('node:sqlite')
  const explained = <T>(use: () => T): T => {
    try {
      return use()
    } catch (error) {
      throw explain(error, path)
    }
  }
  const database = explained(() => new DatabaseSync(path))
  try {
    explained(() => prepare(database, path, log))
  } catch (error) {
    database.close()
    throw error
  }
  const insert = database.prepare('INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const find = database.prepare('SELECT offset FROM claims WHERE partition = ? AND id = ?')
  const pass = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)')
  const passed = database.prepare('SELECT offset, event FROM checkpoints WHERE partition = ?')

  function checkpointOf(partition: Partition): Checkpoint {
    const found = passed.get(partition)
    if (found === undefined) return BEFORE_LOG
    return { offset: offsetOf(Number(found.offset)), eventId: parseEventId(String(found.event)) ?? '' }
  }

  function offsetIn(partition: Partition, id: PlantId): Offset | undefined {
    const found = find.get(partition, id) as { offset: number } | undefined
    return found === undefined ? undefined : offsetOf(found.offset)
  }

  function store<R extends LogRecord>(partition: Partition, records: readonly R[], next: Checkpoint): R[] {
    const checkpoint = checkpointOf(partition)
    const first = firstAmong(
      {
        checkpoint,
        offsetOf: (id) => offsetIn(partition, id),
        add({ id, offset }) {
          if (insert.run(partition, id, offset).changes === 1) return offset
          return offsetIn(partition, id) as Offset
        },
      },
      partition,
      records,
    )
    if (next.offset > checkpoint.offset) pass.run(partition, next.offset, next.eventId)
    return first
  }

  return {
    checkpointOf: async (partition) => explained(() => checkpointOf(partition)),

    firstAmong: async (partition, records, next) =>
      explained(() => inTransaction(database, 'BEGIN', () => store(partition, records, next))),

    async close() {
      if (database.isOpen) database.close()
    },
  }
}

function inTransaction<T>(database: DatabaseSync, begin: string, work: () => T): T {
  database.exec(begin)
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    // Some failures, such as a full disk, have rolled it back already.
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** Locks the file for this process, checks it, and creates the schema in a new one. */
function prepare(database: DatabaseSync, path: string, { topic, partitions }: TopicSettings): void {
  const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  pragma('locking_mode = EXCLUSIVE')
  // Losing the last transactions in a crash of the machine is harmless: they are read again.
  pragma('synchronous = NORMAL')
  pragma(`cache_size = -${CACHE_KIB}`)
  // The first transaction takes the lock, which is held until the file is closed.
  inTransaction(database, 'BEGIN EXCLUSIVE', () => {
    const isNew = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables === 0
    if (isNew) {
      database.exec(SCHEMA)
      database.prepare('INSERT INTO log VALUES (?, ?)').run(topic, partitions)
    } else if (pragma('application_id') !== APPLICATION_ID) {
      throw new PreconditionError(`${path} is a database of another application: choose another file for first claims`)
    }
    assertFormatVersion(pragma('user_version'), path)
    const log = database.prepare('SELECT topic, partitions FROM log').get() ?? {}
    if (log.topic !== topic || log.partitions !== partitions) {
      throw new PreconditionError(
        `${path} has the first claims of topic ${String(log.topic)} with ${String(log.partitions)} partitions, not of ` +
          `${topic} with ${partitions}: choose another file, which is then built from the log`,
      )
    }
    // Reads the whole file, about 0.1 s per million ids: a damaged file could give wrong results.
    const found = pragma('quick_check(1)')
    if (found !== 'ok') throw damaged(path, CORRUPT)
  })
  pragma('journal_mode = WAL')
}

function assertFormatVersion(version: unknown, path: string): void {
  if (version === FORMAT_VERSION) return
  throw new PreconditionError(
    `${path} was written by another release (format ${String(version)}; this release has ${FORMAT_VERSION}): use that ` +
      'release, or choose another file, which is then built from the log',
  )
}

const damaged = (path: string, code: number) =>
  new PreconditionError(
    `${path} is damaged (SQLite error ${code}): delete it and the file ${path}-wal, if it exists. It is rebuilt from the log`,
  )

/** With reason and remedy instead of SQLite's text: a PreconditionError if permanent. Others unchanged. */
export function explain(error: unknown, path: string): unknown {
  const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff
  if (code === 0) return error
  if (code === CORRUPT || code === NOTADB) return damaged(path, code)
  if (code === BUSY) {
    return new PreconditionError(
      `${path} is in use by another process, or by another consumer of this process: each needs a file of its own`,
    )
  }
  if (code === CANTOPEN || code === READONLY) {
    return new PreconditionError(
      `${path} cannot be written (SQLite error ${code}): check that its folder exists and is writable`,
    )
  }
  const remedy = REMEDIES[code] ?? 'the log has the reason'
  return new Error(`${path} cannot be used (SQLite error ${code}): ${remedy}`, { cause: error })
}
