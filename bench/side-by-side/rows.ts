import { noStore } from '../contenders/no-store.ts'
import { producerSend } from '../contenders/producer-send.ts'
import { thisService } from '../contenders/this-service.ts'

/** What creates are compared among, by the names that `--only` takes, in the order of the table. */
export const ROWS = {
  'this-service': thisService,
  'no-store': noStore,
  'producer-send': producerSend,
}
