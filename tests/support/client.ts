import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { text } from 'node:stream/consumers'
import { ErrorBody } from '@plant-store/api/src/http/errors.ts'
import { Value } from 'typebox/value'
import { expect, onTestFinished } from 'vitest'
import { TOKEN } from './plant-store.ts'

/** `text` is the body as it came, with every digit; `body` is undefined if it is not JSON, as from a proxy. */
export type ClientResponse = { status: number; body: unknown; text: string; headers: IncomingHttpHeaders }
/** One create as the client saw it; `response` is absent when the connection broke. */
export type Create = { id: bigint; name: string; response: ClientResponse | undefined }

const sharedAgent = new Agent({ keepAlive: true })
const sharedTlsAgent = new TlsAgent({ keepAlive: true })

/** One request. Resolves to undefined when no response came. */
export function send(
  url: string,
  {
    method = 'GET',
    headers = {},
    body = '',
    agent = url.startsWith('https:') ? sharedTlsAgent : sharedAgent,
  }: { method?: string; headers?: Record<string, string>; body?: string; agent?: Agent },
): Promise<ClientResponse | undefined> {
  return new Promise((resolve) => {
    const sent = (url.startsWith('https:') ? requestTls : request)(
      url,
      { method, agent, headers: { authorization: `Bearer ${TOKEN}`, ...headers } },
      (response) => {
        const { statusCode: status = 0, headers } = response
        const whole = text(response).then((text) => ({ status, body: parsed(text), text, headers }))
        resolve(whole.catch(() => undefined))
      },
    )
    sent.on('error', () => resolve(undefined))
    sent.end(body)
  })
}

function parsed(text: string): unknown {
  try {
    return text && JSON.parse(text)
  } catch {
    return undefined
  }
}

export async function createPlant(
  url: string,
  id: bigint,
  name: string,
  headers: Record<string, string> = {},
): Promise<Create> {
  const response = await send(`${url}/plants`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: `{"id":${id},"name":${JSON.stringify(name)},"tag":"test"}`,
  })
  return { id, name, response }
}

export function readPlant(
  url: string,
  id: bigint,
  headers: Record<string, string> = {},
): Promise<ClientResponse | undefined> {
  return send(`${url}/plants/${id}`, { headers })
}

/** Runs `task` for each item, on this many connections at a time. */
export async function onConnections<T, R>(
  connections: number,
  items: Iterable<T>,
  task: (item: T, connection: number) => Promise<R>,
): Promise<R[]> {
  const iterator = items[Symbol.iterator]()
  const results: R[] = []
  async function connect(connection: number): Promise<void> {
    for (let next = iterator.next(); !next.done; next = iterator.next())
      results.push(await task(next.value, connection))
  }
  await Promise.all(Array.from({ length: connections }, (_, connection) => connect(connection)))
  return results
}

/** So many ids in sequence. */
export const idsFrom = (from: number, count: number) => Array.from({ length: count }, (_, n) => BigInt(from + n))

/** Ids in order, while `goOn` returns true. */
export function* idsWhile(goOn: () => boolean): Generator<bigint> {
  for (let id = 0n; goOn(); id++) yield id
}

/** Runs `task` for ids from 0 on, on this many connections, until the test ends or `stop`, which returns the results. */
export function untilStopped<R>(connections: number, task: (id: bigint, connection: number) => Promise<R>) {
  let isGoing = true
  const results = onConnections(
    connections,
    idsWhile(() => isGoing),
    task,
  )
  function stop(): Promise<R[]> {
    isGoing = false
    return results
  }
  onTestFinished(async () => void (await stop()))
  return { stop }
}

/** The Error number of a response; undefined for a success. */
export function errorOf(response: ClientResponse | undefined): number | undefined {
  return (response?.body as { error?: number } | undefined)?.error
}

/** Expects the error body of the specification, without further properties. */
export function expectErrorShape(body: unknown): void {
  expect(Value.Check(ErrorBody, body)).toBe(true)
  expect(Object.keys(body as object).sort()).toEqual(['error', 'message'])
}
