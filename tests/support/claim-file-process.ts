import { inFile } from '../../shared/src/consumer/first-claims/in-file.ts'
import type { LogRecord } from '../../shared/src/plant/plant-created.ts'
import { checkpointAt } from '../../shared/src/protocol/checkpoint.ts'
import { DYING_BATCH, IN_FILE, longLog } from './claim-file-log.ts'

// A process that uses a file of first claims: argv is the file, and `hold` (it says so and waits) or `die` (it is
// killed in the middle of a transaction, as by kill -9).

const [path = '', mode] = process.argv.slice(2)
const file = await inFile(path).open(IN_FILE)

if (mode === 'hold') {
  process.stdout.write('held\n')
  process.stdin.resume()
} else {
  for (const [index, { partition, records, next }] of longLog().entries()) {
    const given = index === DYING_BATCH ? records.map(deadly) : records
    await file.firstAmong(partition, given, checkpointAt(next.offset, records))
    process.stdout.write(`${index}\n`)
  }
}

/** Kills this process when the last tenth of the batch is read: nine tenths have gone into the file by then. */
function deadly(record: LogRecord, index: number, all: readonly LogRecord[]): LogRecord {
  if (index !== Math.floor(all.length * 0.9)) return record
  return {
    offset: record.offset,
    get claim() {
      process.kill(process.pid, 'SIGKILL')
      return record.claim
    },
  } as LogRecord
}
