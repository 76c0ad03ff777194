import { emmett } from '../contenders/emmett.ts'
import { noStore } from '../contenders/no-store.ts'
import { postgres, postgresWithoutFsync } from '../contenders/postgres.ts'
import { producerSend } from '../contenders/producer-send.ts'
import { thisService, thisServiceTls } from '../contenders/this-service.ts'

/** The contenders by their names for `--only`, in the order of the table. */
export const ROWS = {
  'this-service': thisService,
  'this-service-tls': thisServiceTls,
  'no-store': noStore,
  'producer-send': producerSend,
  postgres,
  'postgres-no-fsync': postgresWithoutFsync,
  emmett,
}

export type RowName = keyof typeof ROWS

/** Rows that promise unique ids; this is checked before they are measured. */
export const UNIQUE: ReadonlySet<RowName> = new Set<RowName>([
  'this-service',
  'this-service-tls',
  'postgres',
  'postgres-no-fsync',
  'emmett',
])

/** Rows whose stores keep running from round to round. Each warms up its store before the first round. */
export const WARMING_UP: readonly RowName[] = ['producer-send', 'this-service', 'this-service-tls']

/**
 * Rows that are measured at fixed rates in an open loop. `no-store` shows the share of the machine, HTTP and the load.
 */
export const OPEN_LOADED: readonly RowName[] = ['this-service', 'postgres', 'no-store']
/** The row that is offered three times its peak. */
export const OVERLOADED: RowName = 'this-service'
