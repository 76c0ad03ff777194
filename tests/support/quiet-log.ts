import { createLog } from '@plant-store/shared/runtime/json-log.ts'

/** A log that keeps the messages of the code under test out of the test output. */
export const quietLog = createLog('test', 'silent')
