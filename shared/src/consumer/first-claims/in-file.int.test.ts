import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LogBatch, logs } from '../../../../tests/support/generated-logs.ts'
import { expectSameAsModel, jumps } from '../../../../tests/support/modelled-claims.ts'
import { batchOf, claimAt, eventId } from '../../../../tests/support/small-log.ts'
import { temporaryFolder } from '../../../../tests/support/temporary-folder.ts'
import type { LogRecord } from '../../plant/plant-created.ts'
import { offsetOf, type Partition } from '../../plant/position.ts'
import { BEFORE_LOG, checkpointAt } from '../../protocol/checkpoint.ts'
import { PreconditionError } from '../../runtime/failures.ts'
import { explain, inFile } from './in-file.ts'

const IN_FILE = { topic: 'plants', partitions: 2 }
const BATCH_RECORDS = 10_000
const [P, OTHER] = [0, 1] as Partition[] as [Partition, Partition]

const open = (path: string, settings = IN_FILE) => inFile(path).open(settings)
const newPath = () => join(temporaryFolder(), 'claims.db')

/** A log whose every third claim repeats an earlier id. */
const LONG_LOG: LogBatch[] = Array.from({ length: 4 }, (_, batch) => {
  const first = batch * BATCH_RECORDS
  const ids = Array.from({ length: BATCH_RECORDS }, (_, n) => {
    const id = (first + n) % 3 === 2 ? (first + n) >> 1 : first + n
    return BigInt.asIntN(64, BigInt(id) * 0x9e37_79b9_7f4a_7c15n)
  })
  return batchOf(first, ids)
})
const [FIRST, SECOND] = LONG_LOG as [LogBatch, LogBatch]

/** A file that has taken in a batch. */
async function filled(): Promise<string> {
  const path = newPath()
  const claims = await open(path)
  await expectSameAsModel(claims, P, [FIRST])
  await claims.close()
  return path
}

/** The file of a process that is killed in its second transaction, when it has nine tenths of the records. */
async function leftByKilled(): Promise<string> {
  const [path, left] = [newPath(), newPath()]
  const claims = await open(path)
  await claims.firstAmong(P, FIRST.records, FIRST.next)
  const records = SECOND.records.map((record, n): LogRecord => {
    if (n !== BATCH_RECORDS * 0.9) return record
    return {
      ...record,
      get claim() {
        cpSync(dirname(path), dirname(left), { recursive: true })
        return record.claim as never
      },
    }
  })
  await claims.firstAmong(P, records, SECOND.next)
  await claims.close()
  return left
}

async function expectRefused(opening: Promise<unknown>, message: RegExp): Promise<void> {
  const refused = await opening.catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(PreconditionError)
  expect((refused as Error).message).toMatch(message)
}

function overwrite(path: string, from: number, length: number): void {
  const bytes = readFileSync(path)
  bytes.fill(0xa5, from, from + length)
  writeFileSync(path, bytes)
}

function execute(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
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
        expect([`${path}-wal`, `${path}-shm`, `${path}-journal`].filter(existsSync)).toEqual([])
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

  it.each([
    ['what was stored before, after a process was killed in a transaction', false, FIRST.next],
    ['nothing, when the file is lost but not the write-ahead log of a killed process', true, BEFORE_LOG],
  ])('continue with %s', async (_what, isLost, checkpoint) => {
    const path = await leftByKilled()
    expect(existsSync(`${path}-wal`)).toBe(true)
    if (isLost) rmSync(path)
    const claims = await open(path)
    expect(await claims.checkpointOf(P)).toEqual(checkpoint)
    await expectSameAsModel(claims, P, LONG_LOG)
    await claims.close()
  })

  it('are rejected while the file is in use, but not afterwards', async () => {
    const path = await filled()
    const holding = await open(path)
    await expectRefused(open(path), /claims\.db is in use by another process.*each needs a file of its own/)
    await holding.close()
    await (await open(path)).close()
  })

  it.each<[string, RegExp, (path: string) => void, object?]>([
    ['of another topic', /of topic plants with 2 partitions, not of others with 2/, () => {}, { topic: 'others' }],
    [
      'of a newer release',
      /written by another release \(format 2; this release has 1\)/,
      (path) => execute(path, 'PRAGMA user_version = 2'),
    ],
    [
      'of another application',
      /a database of another application/,
      (path) => {
        rmSync(path)
        execute(path, 'CREATE TABLE invoices (id INTEGER)')
      },
    ],
    ['no database', /is damaged/, (path) => writeFileSync(path, 'no database, but long enough to look like one')],
    ['cut off', /is damaged .*: delete it .*rebuilt from the log/, (path) => truncateSync(path, 81_920)],
    ['overwritten', /is damaged .*: delete it .*rebuilt from the log/, (path) => overwrite(path, 81_920, 4_096)],
  ])('are rejected when the file is %s, which does not change it', async (_what, message, change, settings) => {
    const path = await filled()
    change(path)
    const before = readFileSync(path)
    await expectRefused(open(path, { ...IN_FILE, ...settings }), message)
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('are rejected where no file can be written', async () => {
    await expectRefused(open(join(temporaryFolder(), 'none', 'claims.db')), /cannot be written .*its folder/)
    await expectRefused(open(process.env.NOT_SET as string), /needs the path of a file/)
  })

  it('name a full disk and the remedy, without the text of SQLite', () => {
    const full = Object.assign(new Error('database or disk is full'), { errcode: 13 })
    const message = 'claims.db cannot be used (SQLite error 13): free space on its disk'
    expect(explain(full, 'claims.db')).toEqual(new Error(message, { cause: full }))
  })

  it('detect another log, and store nothing of it', async () => {
    const claims = await open(await filled())
    const last = BATCH_RECORDS - 1
    const others = [...FIRST.records.slice(0, -1), claimAt(last, 5n, { eventId: eventId(1) }), claimAt(last + 1, 77n)]
    const taking = claims.firstAmong(P, others, checkpointAt(offsetOf(last + 1), others))
    await expectRefused(taking, new RegExp(`another log.* offset ${last}\\. `))
    expect(await claims.checkpointOf(P)).toEqual(FIRST.next)
    const strange = [claimAt(2, -5n)]
    await expectRefused(claims.firstAmong(P, strange, checkpointAt(offsetOf(2), strange)), /another log/)
    await claims.close()
  })
})
