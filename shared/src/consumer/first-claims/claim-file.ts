import { DatabaseSync } from 'node:sqlite'
import { type EventId, parseEventId } from '../../plant/event-id.ts'
import type { PlantId } from '../../plant/plant.ts'
import type { LogRecord } from '../../plant/plant-created.ts'
import { BEFORE_FIRST, type Offset, offsetOf, type Partition } from '../../plant/position.ts'
import type { Checkpoint } from '../../protocol/checkpoint.ts'
import { messageOf, PreconditionError } from '../../runtime/failures.ts'
import { firstAmong } from './first-among.ts'

export type ClaimFileSettings = { path: string; topic: string; partitions: number }

/** 'Plnt': tells files of first claims from what else SQLite keeps. */
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

// What SQLite fails with, as far as something can be said of it (sqlite.org/rescode.html).
const [BUSY, READONLY, CORRUPT, CANTOPEN, NOTADB] = [5, 8, 11, 14, 26]

export type ClaimFile = ReturnType<typeof openClaimFile>

/**
 * The first claims of a topic in a file of SQLite, which this process alone may use. Records and the checkpoint after
 * them go in together or not at all, so that a process may be killed at any point; what a lost disk cache takes away
 * is read again. Throws a PreconditionError for a file that can't be used, and changes nothing in it then.
 */
export function openClaimFile(settings: ClaimFileSettings) {
  const { path } = settings
  const explained = <T>(use: () => T): T => {
    try {
      return use()
    } catch (error) {
      throw explain(error, path)
    }
  }
  const database = explained(() => new DatabaseSync(path))
  try {
    explained(() => prepare(database, settings))
  } catch (error) {
    database.close()
    throw error
  }
  const insert = database.prepare('INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const find = database.prepare('SELECT offset FROM claims WHERE partition = ? AND id = ?')
  const pass = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)')
  const checkpoints = explained(() => readCheckpoints(database))
  const checkpointOf = (partition: Partition): Checkpoint =>
    checkpoints.get(partition) ?? { offset: BEFORE_FIRST, eventId: '' }

  function offsetIn(partition: Partition, id: PlantId): Offset | undefined {
    const found = find.get(partition, id) as { offset: number } | undefined
    return found === undefined ? undefined : offsetOf(found.offset)
  }

  function takeIn<R extends LogRecord>(partition: Partition, records: readonly R[], next: Checkpoint): R[] {
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
    checkpointOf,

    /** As FirstClaims have it. */
    firstAmong<R extends LogRecord>(partition: Partition, records: readonly R[], next: Checkpoint): R[] {
      return explained(() => {
        database.exec('BEGIN')
        try {
          const first = takeIn(partition, records, next)
          database.exec('COMMIT')
          if (next.offset > checkpointOf(partition).offset) checkpoints.set(partition, next)
          return first
        } catch (error) {
          // Some failures, such as a full disk, have taken it back already.
          if (database.isTransaction) database.exec('ROLLBACK')
          throw error
        }
      })
    },

    close(): void {
      if (database.isOpen) database.close()
    },
  }
}

/** Takes the file for this process, checks that it is what it should be, and makes what a new one lacks. */
function prepare(database: DatabaseSync, { path, topic, partitions }: ClaimFileSettings): void {
  const pragma = (name: string) => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]
  pragma('locking_mode = EXCLUSIVE')
  // Behind is harmless: what a crash of the machine takes away is read again.
  pragma('synchronous = NORMAL')
  pragma(`cache_size = -${CACHE_KIB}`)
  // The first transaction takes the lock, and keeps it until the end.
  database.exec('BEGIN EXCLUSIVE')
  try {
    const isNew = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables === 0
    if (isNew) {
      database.exec(SCHEMA)
      database.prepare('INSERT INTO log VALUES (?, ?)').run(topic, partitions)
    } else if (pragma('application_id') !== APPLICATION_ID) {
      throw new PreconditionError(
        `${path} is a database of something else: name another file for first claims`,
      )
    }
    refuseOther(pragma('user_version'), path)
    const log = database.prepare('SELECT topic, partitions FROM log').get() ?? {}
    if (log.topic !== topic || log.partitions !== partitions) {
      throw new PreconditionError(
        `${path} has the first claims of topic ${String(log.topic)} with ${String(log.partitions)} partitions, not of ${topic} with ` +
          `${partitions}: name another file, which is then made from the log`,
      )
    }
    // Reads the whole file, about 0.1 s a million ids: what is damaged could give wrong answers.
    const found = pragma('quick_check(1)')
    if (found !== 'ok') throw damaged(path, String(found).replaceAll('\n', ' '))
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
  pragma('journal_mode = WAL')
}

function readCheckpoints(database: DatabaseSync): Map<Partition, Checkpoint> {
  const rows = database.prepare('SELECT partition, offset, event FROM checkpoints').all()
  return new Map(
    rows.map(({ partition, offset, event }): [Partition, Checkpoint] => {
      const eventId: EventId | '' = parseEventId(String(event)) ?? ''
      return [Number(partition) as Partition, { offset: offsetOf(Number(offset)), eventId }]
    }),
  )
}

function refuseOther(version: unknown, path: string): void {
  if (version === FORMAT_VERSION) return
  throw new PreconditionError(
    `${path} was written by another release (format ${String(version)}, this one has ${FORMAT_VERSION}): use that release, or ` +
      'name another file, which is then made from the log',
  )
}

const damaged = (path: string, reason: string) =>
  new PreconditionError(
    `${path} is damaged (${reason}): delete it and the file ${path}-wal, if there is one. It is made anew from the log`,
  )

/** A PreconditionError for what does not get better by itself; any other error as it is, such as that of a full disk. */
function explain(error: unknown, path: string): unknown {
  const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff
  if (code === CORRUPT || code === NOTADB) return damaged(path, messageOf(error))
  if (code === BUSY) {
    return new PreconditionError(
      `${path} is in use, by another process or another consumer of this one: each needs a file of its own`,
    )
  }
  if (code === CANTOPEN || code === READONLY) {
    return new PreconditionError(
      `${path} can not be written (${messageOf(error)}): see that its folder is there, and may be written to`,
    )
  }
  return error
}
