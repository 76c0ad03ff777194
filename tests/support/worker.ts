import { inject } from 'vitest'
import { noteWorker } from './test-run.ts'

noteWorker(inject('testRun'))
