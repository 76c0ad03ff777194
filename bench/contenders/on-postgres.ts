import { Client } from 'pg'
import type { Contender, RunningContender } from '../contender.ts'
import { startPostgres } from '../postgres/server.ts'
import { startAppProcess, TOKEN } from './app-process.ts'
import type { StoreName } from './server.ts'

const IDS_PER_QUERY = 50_000

export type OnPostgres = Pick<Contender, 'name' | 'promise'> & {
  store: StoreName
  fsync: boolean
  /** Connections of the app. */
  poolSize: number
  /** A condition in SQL: the plant with the id `acknowledged.id`, a bigint, is stored. */
  keeps: string
}

/** The api's application in front of a store in a PostgreSQL of its own. */
export function onPostgres({ name, promise, store, fsync, poolSize, keeps }: OnPostgres): Contender {
  return {
    name,
    promise,
    async start(): Promise<RunningContender> {
      const postgres = await startPostgres({ fsync })
      try {
        const settings = { postgresUrl: postgres.url, poolSize: String(poolSize) }
        const app = await startAppProcess(store, settings)
        return {
          ...{ url: app.url, token: TOKEN },
          processes: new Map([
            ['api', app.pid],
            ['PostgreSQL', postgres.pid],
          ]),
          missing: (acknowledged) => missingOf(postgres.url, [...acknowledged], keeps),
          async stop() {
            await app.stop()
            await postgres.stop()
          },
        }
      } catch (error) {
        await postgres.stop()
        throw error
      }
    },
  }
}

async function missingOf(url: string, ids: readonly bigint[], keeps: string): Promise<bigint[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const missing: bigint[] = []
    for (let from = 0; from < ids.length; from += IDS_PER_QUERY) {
      const { rows } = await client.query<{ id: string }>(
        `SELECT acknowledged.id FROM unnest($1::bigint[]) AS acknowledged (id) WHERE NOT (${keeps})`,
        [ids.slice(from, from + IDS_PER_QUERY)],
      )
      missing.push(...rows.map(({ id }) => BigInt(id)))
    }
    return missing
  } finally {
    await client.end()
  }
}
