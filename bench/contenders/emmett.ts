import { type Event, isExpectedVersionConflictError } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql'
import type { Plant } from '@plant-store/shared/plant/plant.ts'
import { FIRST, offsetOf, type Partition } from '@plant-store/shared/plant/position.ts'
import { Pool } from 'pg'
import type { OpenStore } from './store.ts'

type PlantCreated = Event<'PlantCreated', Plant & { id: string }>

/**
 * A stream that does not exist is expected. Not STREAM_DOES_NOT_EXIST: emmett-postgresql 0.42 takes that for "any
 * version", and appends a second creation to the stream that is there.
 */
const NEW_STREAM = 0n

/** A stream for each plant, in emmett's event store, without projections; its schema is made before all requests. */
export const openEmmett: OpenStore = async ({ postgresUrl = '', poolSize }) => {
  const pool = new Pool({ connectionString: postgresUrl, max: Number(poolSize) })
  const eventStore = getPostgreSQLEventStore(postgresUrl, { connectionOptions: { pool } })
  await eventStore.schema.migrate()
  return {
    async create({ id, ...plant }) {
      const created: PlantCreated = { type: 'PlantCreated', data: { id: String(id), ...plant } }
      try {
        const { lastEventGlobalPosition } = await eventStore.appendToStream(`plant-${id}`, [created], {
          expectedStreamVersion: NEW_STREAM,
        })
        return { is: 'created', partition: 0 as Partition, offset: offsetOf(Number(lastEventGlobalPosition)) }
      } catch (error) {
        if (!isExpectedVersionConflictError(error)) throw error
        return { is: 'duplicate', partition: 0 as Partition, offset: FIRST }
      }
    },
  }
}
