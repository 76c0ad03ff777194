import { inject } from 'vitest'
import { DEFAULT_RANGE } from '../../local/processes/port.ts'
import { registerWorker } from './test-run.ts'

/** One more than the most workers in vitest.config.ts. */
const PORT_PARTS = 5

registerWorker(inject('testRun'))
// A port that is free may be drawn by two processes before one of them listens on it: each draws from its own part.
// Workers have the ids from 1 on; part 0 belongs to the main process.
const part = Number(process.env.VITEST_POOL_ID) % PORT_PARTS
const size = Math.floor((DEFAULT_RANGE.to - DEFAULT_RANGE.from) / PORT_PARTS)
const first = DEFAULT_RANGE.from + part * size
process.env.PLANT_STORE_PORTS = `${first}-${first + size}`
