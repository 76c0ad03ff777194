import { inject } from 'vitest'
import { registerWorker } from './test-run.ts'

registerWorker(inject('testRun'))
