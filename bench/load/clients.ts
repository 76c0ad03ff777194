import { bodyOf, newIds } from '../plant.ts'
import { createConnection } from './connection.ts'
import { createDispatch } from './dispatch.ts'
import type { CreateResponse } from './response.ts'

/** What happens to a request. `dueMs`, the time at which it was due, identifies it. */
export type ClientsEvents = {
  onSent(dueMs: number): void
  onResponse(dueMs: number, id: bigint, response: CreateResponse): void
  onBroken(why: string): void
}

const OPENED_AT_A_TIME = 100

/** Sends creates of new plants on at most `connections` connections, which are opened when they are needed. */
export function createClients(
  { url, token, connections }: { url: string; token: string; connections: number },
  { onSent, onResponse, onBroken }: ClientsEvents,
) {
  const target = new URL(url)
  const fields = [`host: ${target.host}`, `authorization: Bearer ${token}`, 'content-type: application/json']
  const head = `POST /plants HTTP/1.1\r\n${fields.join('\r\n')}\r\ncontent-length: `
  const dispatch = createDispatch(connections)
  const newId = newIds()
  const ids: bigint[] = []
  const opened: ReturnType<typeof createConnection>[] = []

  function connectionOf(number: number) {
    opened[number] ??= createConnection(
      target,
      (response) => {
        onResponse(dispatch.dueOf(number), ids[number] as bigint, response)
        goOn(number)
      },
      (why) => {
        onBroken(why)
        goOn(number)
      },
    )
    return opened[number]
  }

  function goOn(number: number): void {
    if (dispatch.answered(number)) send(number)
  }

  function send(number: number): void {
    const id = newId()
    ids[number] = id
    const body = bodyOf(id)
    connectionOf(number).send(`${head}${body.length}\r\n\r\n${body}`)
    onSent(dispatch.dueOf(number))
  }

  return {
    out: dispatch.out,
    waiting: dispatch.waiting,
    dropWaiting: dispatch.dropWaiting,

    /** A request is due: it is sent, or waits for the next free connection. */
    arrive(dueMs: number): void {
      const number = dispatch.arrive(dueMs)
      if (number !== undefined) send(number)
    },

    /** Opens all connections, a few at a time: the system resets those beyond the listen backlog of a busy server. */
    async openAll(): Promise<void> {
      for (let from = 0; from < connections; from += OPENED_AT_A_TIME) {
        const count = Math.min(OPENED_AT_A_TIME, connections - from)
        await Promise.all(Array.from({ length: count }, (_, n) => connectionOf(from + n).opened()))
      }
    },

    close(): void {
      for (const connection of opened) connection?.close()
    },
  }
}
