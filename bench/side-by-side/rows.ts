import { emmett } from '../contenders/emmett.ts'
import { noStore } from '../contenders/no-store.ts'
import { postgres, postgresWithoutFsync } from '../contenders/postgres.ts'
import { producerSend } from '../contenders/producer-send.ts'
import { thisService } from '../contenders/this-service.ts'

/** What creates are compared among, by the names that `--only` takes, in the order of the table. */
export const ROWS = {
  'this-service': thisService,
  'no-store': noStore,
  'producer-send': producerSend,
  postgres,
  'postgres-no-fsync': postgresWithoutFsync,
  emmett,
}

export type RowName = keyof typeof ROWS

/** Those that give an id once; they are held to it. */
export const UNIQUE: ReadonlySet<RowName> = new Set<RowName>([
  'this-service',
  'postgres',
  'postgres-no-fsync',
  'emmett',
])

/** Those whose store stays from round to round: it is warmed up by them before the first. */
export const WARMING_UP: readonly RowName[] = ['producer-send', 'this-service']

/** Whose latency is measured at half of what each can do; without a store it is that of the machine, of HTTP and of the load. */
export const HALF_LOADED: readonly RowName[] = ['this-service', 'postgres', 'no-store']
/** Who is asked for three times what it can do. */
export const OVERLOADED: RowName = 'this-service'
