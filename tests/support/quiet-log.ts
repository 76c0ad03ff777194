import { createLog } from '@plant-store/shared/runtime/json-log.ts'

/** What the parts under test have to say is no part of a test's output. */
export const quietLog = createLog('test', 'silent')
