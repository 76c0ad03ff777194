import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../../tests/support/generated-logs.ts'
import { expectSameAsModel, firstOffsets, jumps } from '../../../../tests/support/modelled-claims.ts'
import { batchOf, claimAt, eventId } from '../../../../tests/support/small-log.ts'
import { temporaryFolder } from '../../../../tests/support/temporary-folder.ts'
import type { LogRecord } from '../../plant/plant-created.ts'
import { offsetOf, type Partition } from '../../plant/position.ts'
import { BEFORE_LOG, checkpointAt } from '../../protocol/checkpoint.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { explain, inFile } from './in-file.ts'

const IN_FILE = { topic: 'plants', partitions: 2 }
/** The batch in which a process is killed. */
const LAST_BATCH = 5
const BATCH_RECORDS = 10_000
const [P, OTHER] = [0, 1] as Partition[] as [Partition, Partition]
const RECORDS: LogRecord[] = [claimAt(0, 1n), claimAt(1, 2n), claimAt(2, 1n), claimAt(3, -(2n ** 63n))]
const NEXT = checkpointAt(offsetOf(3), RECORDS)
const FIRST = [RECORDS[0], RECORDS[1], RECORDS[3]]

const open = (path: string, settings = IN_FILE) => inFile(path).open(settings)

const newPath = () => join(temporaryFolder(), 'claims.db')

/** A file that has taken in the records. */
async function filled(): Promise<string> {
  const path = newPath()
  const claims = await open(path)
  expect(await claims.firstAmong(P, RECORDS, NEXT)).toEqual(FIRST)
  await claims.close()
  return path
}

/** A log of two partitions in turn; every third claim repeats an earlier id. */
function longLog(): (LogBatch & { partition: Partition })[] {
  return Array.from({ length: 8 }, (_, batch) => {
    const first = Math.floor(batch / 2) * BATCH_RECORDS
    const ids = Array.from({ length: BATCH_RECORDS }, (_, n) => {
      const id = (first + n) % 3 === 2 ? (first + n) >> 1 : first + n
      return BigInt.asIntN(64, BigInt(id) * 0x9e37_79b9_7f4a_7c15n)
    })
    return { partition: (batch % 2) as Partition, ...batchOf(first, ids) }
  })
}

/** The file of a process that is killed in a transaction, when it has nine tenths of its records. */
async function leftByKilled(): Promise<string> {
  const [path, left] = [newPath(), newPath()]
  const claims = await open(path)
  for (const [batch, { partition, records, next }] of longLog()
    .slice(0, LAST_BATCH + 1)
    .entries()) {
    const last = batch === LAST_BATCH ? BATCH_RECORDS * 0.9 : -1
    const taken = records.map((record, n): LogRecord => {
      if (n !== last) return record
      return {
        ...record,
        get claim() {
          cpSync(dirname(path), dirname(left), { recursive: true })
          return record.claim as never
        },
      }
    })
    await claims.firstAmong(partition, taken, next)
  }
  await claims.close()
  return left
}

async function expectRefused(opening: Promise<unknown>, message: RegExp): Promise<void> {
  const refused = await opening.catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(PreconditionError)
  expect((refused as Error).message).toMatch(message)
}

describe('first claims in a file', () => {
  it('agree with a Map, also for repeated records, and when the file is closed and opened at any point', async () => {
    const path = newPath()
    await fc.assert(
      fc.asyncProperty(logs, logs, jumps, fc.nat(9), async (log, other, again, closedAfter) => {
        rmSync(path, { force: true })
        let claims = await open(path)
        await expectSameAsModel(claims, P, log.slice(0, closedAfter), again)
        await claims.close()
        claims = await open(path)
        expect(await claims.checkpointOf(P)).toEqual(log.slice(0, closedAfter).at(-1)?.next ?? BEFORE_LOG)
        await expectSameAsModel(claims, P, log, again)
        await expectSameAsModel(claims, OTHER, other)
        expect(await claims.checkpointOf(P)).toEqual(log.at(-1)?.next ?? BEFORE_LOG)
        await claims.close()
      }),
      { numRuns: 50 },
    )
  })

  it('leave no other file when they are closed', async () => {
    const path = await filled()
    expect([`${path}-wal`, `${path}-shm`, `${path}-journal`].filter(existsSync)).toEqual([])
  })

  it('continue after a process was killed in the middle of a transaction', async () => {
    const [path, log] = [await leftByKilled(), longLog()]
    const claims = await open(path)
    // The batches before the interrupted one are stored, and nothing of the interrupted one.
    expect(await claims.checkpointOf(P)).toEqual(log[LAST_BATCH - 1]?.next)
    expect(await claims.checkpointOf(OTHER)).toEqual(log[LAST_BATCH - 2]?.next)
    await claims.close()
    const taken = [P, OTHER].map((partition) =>
      firstOffsets(log.slice(0, LAST_BATCH).filter((batch) => batch.partition === partition)),
    )
    const database = new DatabaseSync(path, { readOnly: true })
    const counted = database.prepare('SELECT count(*) AS claims FROM claims GROUP BY partition').all()
    expect(counted.map((row) => row.claims)).toEqual(taken.map(({ size }) => size))
    database.close()
    const opened = await open(path)
    for (const partition of [P, OTHER])
      await expectSameAsModel(
        opened,
        partition,
        log.filter((batch) => batch.partition === partition),
      )
    await opened.close()
  })

  it('start empty when the file is lost but the write-ahead log of a killed process is not', async () => {
    const path = await leftByKilled()
    expect(existsSync(`${path}-wal`)).toBe(true)
    rmSync(path)
    const claims = await open(path)
    expect(await claims.checkpointOf(P)).toEqual(BEFORE_LOG)
    await expectSameAsModel(
      claims,
      P,
      longLog().filter(({ partition }) => partition === P),
    )
    await claims.close()
  })

  it('are rejected while the file is in use, but not afterwards', async () => {
    const path = await filled()
    const holding = await open(path)
    await expectRefused(open(path), /claims\.db is in use by another process.*each needs a file of its own/)
    await holding.close()
    const claims = await open(path)
    expect(await claims.checkpointOf(P)).toEqual(NEXT)
    await claims.close()
  })

  it.each([
    [{ topic: 'others', partitions: 2 }, /topic plants with 2 partitions, not of others with 2: choose another/],
    [{ topic: 'plants', partitions: 3 }, /topic plants with 2 partitions, not of plants with 3/],
  ])('are rejected for %j, and the file does not change', async (settings, message) => {
    const path = await filled()
    const before = readFileSync(path)
    await expectRefused(open(path, settings), message)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('are rejected when a newer release or another application wrote the file', async () => {
    const path = await filled()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA user_version = 2')
    await expectRefused(open(path), /in use/)
    database.close()
    await expectRefused(open(path), /written by another release \(format 2; this release has 1\)/)
    const strange = newPath()
    const other = new DatabaseSync(strange)
    other.exec('CREATE TABLE invoices (id INTEGER)')
    other.close()
    await expectRefused(open(strange), /a database of another application/)
  })

  it.each<[string, (path: string) => void]>([
    ['no database', (path) => writeFileSync(path, 'no database, but long enough to look like one')],
    ['cut off', (path) => truncateSync(path, 163_840)],
    ['overwritten in its middle', (path) => overwrite(path, 163_840, 4_096)],
    ['overwritten at its begin', (path) => overwrite(path, 0, 100)],
  ])('report a damaged file and what to do, when it is %s', async (_, damage) => {
    const path = newPath()
    const claims = await open(path)
    for (const { partition, records, next } of longLog().slice(0, 2)) await claims.firstAmong(partition, records, next)
    await claims.close()
    damage(path)
    await expectRefused(open(path), /claims\.db is damaged .*: delete it .*rebuilt from the log/)
  })

  it('are rejected where no file can be written', async () => {
    await expectRefused(open(join(temporaryFolder(), 'none', 'claims.db')), /cannot be written .*its folder/)
    for (const path of ['', 'a\0b', process.env.NOT_SET as string])
      await expectRefused(open(path), /needs the path of a file/)
  })

  it('name a full disk and the remedy, without the text of SQLite', () => {
    const database = new DatabaseSync(':memory:')
    database.exec('PRAGMA max_page_count = 1')
    const full = (() => {
      try {
        database.exec('CREATE TABLE t (n)')
      } catch (error) {
        return error
      }
    })()
    expect(explain(full, 'claims.db')).toMatchObject({
      ...{ name: 'Error', message: 'claims.db cannot be used (SQLite error 13): free space on its disk', cause: full },
    })
    const own = new RangeError('offset -1 is no offset')
    expect(explain(own, 'claims.db')).toBe(own)
  })

  it('detect another log, and store nothing of it', async () => {
    const path = await filled()
    const claims = await open(path)
    const others = [...RECORDS.slice(0, 3), claimAt(3, -(2n ** 63n), { eventId: eventId(99) }), claimAt(4, 77n)]
    const taking = claims.firstAmong(P, others, checkpointAt(offsetOf(4), others))
    await expectRefused(taking, /another log.* offset 3\. /)
    expect(await claims.checkpointOf(P)).toEqual(NEXT)
    const strange = [claimAt(2, 5n)]
    await expectRefused(claims.firstAmong(P, strange, checkpointAt(offsetOf(2), strange)), /another log/)
    await claims.close()
  })
})

function overwrite(path: string, from: number, length: number): void {
  const bytes = readFileSync(path)
  bytes.fill(0xa5, from, from + length)
  writeFileSync(path, bytes)
}
