import { createRequire } from 'node:module'
import { onTestFinished } from 'vitest'
import { freePort } from '../../local/processes/port.ts'

// The package of the benchmarks has PostgreSQL and its client. It is installed for these tests, not for the type
// checker.
const BENCH = new URL('../../bench/', import.meta.url)

type Server = { url: string; stop(): Promise<void> }
type Client = { connect(): Promise<void>; query<T>(sql: string): Promise<{ rows: T[] }>; end(): Promise<void> }

/** Starts an empty PostgreSQL on a port of 127.0.0.1, and connects to it, until the test ends. */
export async function startPostgres() {
  const port = await freePort()
  const { startPostgres } = await import(new URL('postgres/server.ts', BENCH).href)
  const server: Server = await startPostgres({ fsync: false, port })
  onTestFinished(server.stop)
  const { Client } = createRequire(BENCH)('pg')
  const client: Client = new Client({ connectionString: server.url })
  await client.connect()
  onTestFinished(() => client.end())
  return { port, client }
}
