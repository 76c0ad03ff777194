import { inject } from 'vitest'
import { drawPortsFrom } from '../../local/processes/port.ts'
import { registerWorker } from './test-run.ts'

/** One more than the most workers in vitest.config.ts. */
const PORT_PARTS = 5

registerWorker(inject('testRun'))
// Workers have the ids from 1 on; part 0 belongs to the main process.
drawPortsFrom(Number(process.env.VITEST_POOL_ID) % PORT_PARTS, PORT_PARTS)
