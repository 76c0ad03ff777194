import { Pool } from 'pg'
import { NO_POSITION, type OpenStore, POOL_SIZE } from './store.ts'

/**
 * One INSERT for each request, by a prepared statement on a connection of a pool. The primary key decides which create
 * is first. PostgreSQL combines concurrent commits of several connections (group commit).
 */
export const openPostgres: OpenStore = async ({ postgresUrl }) => {
  const pool = new Pool({ connectionString: postgresUrl, max: POOL_SIZE })
  await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)')
  return {
    async create({ plant: { id, name, tag } }) {
      const { rowCount } = await pool.query({
        name: 'create plant',
        text: 'INSERT INTO plants (id, name, tag) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        values: [id, name, tag],
      })
      return { is: rowCount === 1 ? 'created' : 'duplicate', ...NO_POSITION }
    },
  }
}
