import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import { createApp } from '../../services/api/src/app.ts'
import type { CreatePlant } from '../../services/api/src/create-plant/create-plant.ts'
import { ERRORS } from '../../services/api/src/http/errors.ts'
import { ApiSettings } from '../../services/api/src/settings.ts'
import { SCOPES } from '../../shared/src/access/scope.ts'
import { NewPlant } from '../../shared/src/plant/plant.ts'
import { FIRST, type Partition } from '../../shared/src/plant/position.ts'
import { createLog } from '../../shared/src/runtime/json-log.ts'
import { readSettings } from '../../shared/src/runtime/settings.ts'
import { endWithProcess } from '../support/end-with-process.ts'

const settings = readSettings(ApiSettings, { KAFKA_BROKERS: 'localhost:9092', REDIS_URL: 'redis://localhost' })
const ERROR_NUMBERS = new Set<number>(Object.values(ERRORS).map(([number]) => number))
const FIRST_POSITION = { partition: 0 as Partition, offset: FIRST }
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /
const CONTENT_LENGTH = /^content-length: (\d+)$/im
const CONTENT_TYPE = /^content-type: (.*)$/im
const HEAD_END = '\r\n\r\n'

const folder = mkdtempSync(join(tmpdir(), 'plant-store-fuzz-'))
// Vitest ends its workers by a signal.
endWithProcess(() => rmSync(folder, { recursive: true, force: true }))
const socketPath = join(folder, 'api.sock')
const { app } = await createApp({
  log: createLog('fuzz', 'error'),
  settings,
  partitions: 1,
  strategy: async (token) => (token === 'token' ? { caller: 'fuzz', scopes: SCOPES } : undefined),
  creation: { create },
  reader: { read: async () => ({ is: 'noSuchPlant' }) },
  lister: { list: async () => ({ is: 'page', claims: [], shown: new Map() }) },
})
await app.listen({ path: socketPath })
app.server.unref()

/** The api validates whatever it passes on. */
async function create({ plant }: CreatePlant) {
  assert.ok(Value.Check(NewPlant, plant))
  return { is: 'created', ...FIRST_POSITION } as const
}

/**
 * Sends the bytes on a connection, and no more. Every response is complete, and is either a success or an Error of the
 * documented table that does not blame the service.
 */
export async function httpRequest(bytes: Buffer): Promise<void> {
  let rest = await exchange(bytes)
  while (rest !== '') {
    const headEnd = rest.indexOf(HEAD_END)
    const head = rest.slice(0, headEnd)
    const status = Number(STATUS_LINE.exec(head)?.[1])
    assert.ok(headEnd > 0 && status >= 100 && status < 500, rest)
    rest = rest.slice(headEnd + HEAD_END.length)
    // No body follows on "100 Continue" and in response to HEAD.
    if (rest === '' || STATUS_LINE.test(rest)) continue
    const length = Number(CONTENT_LENGTH.exec(head)?.[1])
    assert.ok(length <= rest.length, `${head}\n${rest}`)
    if (CONTENT_TYPE.exec(head)?.[1]?.startsWith('application/json')) assertBody(status, rest.slice(0, length))
    rest = rest.slice(length)
  }
}

function assertBody(status: number, text: string): void {
  const body = JSON.parse(text)
  if (status === 200) return
  assert.equal(typeof body.message, 'string', text)
  assert.ok(ERROR_NUMBERS.has(body.error) && Math.floor(body.error / 100) === status, text)
}

/** All that the server sends until it ends the connection, one character for each byte. */
function exchange(bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(socketPath).setEncoding('latin1')
    socket.on('data', (text) => {
      received += text
    })
    // The server may close while bytes are still on the way.
    socket.on('error', () => {})
    socket.on('close', () => resolve(received))
    socket.end(bytes)
  })
}
