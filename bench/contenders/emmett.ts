import { isExpectedVersionConflictError } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'
import { offsetOf } from '@plant-store/shared/plant/position.ts'
import { Pool } from 'pg'
import { NO_POSITION, type OpenStore, POOL_SIZE } from './store.ts'

/**
 * A stream that does not exist is expected. Not STREAM_DOES_NOT_EXIST: emmett-postgresql 0.42 takes that for "any
 * version", and appends a second creation to the stream that is there.
 */
const NEW_STREAM = 0n

/** A stream for each plant, in emmett's event store, without projections; its schema is made before all requests. */
export const openEmmett: OpenStore = async ({ postgresUrl = '' }) => {
  const pool = new Pool({ connectionString: postgresUrl, max: POOL_SIZE })
  const eventStore = getPostgreSQLEventStore(postgresUrl, { connectionOptions: { pool } })
  await eventStore.schema.migrate()
  return {
    async create({ plant: { id, ...plant } }) {
      const created = { type: 'PlantCreated', data: { id: String(id), ...plant } }
      try {
        const { lastEventGlobalPosition } = await eventStore.appendToStream(`plant-${id}`, [created], {
          expectedStreamVersion: NEW_STREAM,
        })
        return { ...NO_POSITION, is: 'created', offset: offsetOf(Number(lastEventGlobalPosition)) }
      } catch (error) {
        if (!isExpectedVersionConflictError(error)) throw error
        return { is: 'duplicate', ...NO_POSITION }
      }
    },
  }
}
