import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The files that a worker runs share their modules: loading them for each file took a third of the time. */
const project = { isolate: false }
const realStores = {
  ...project,
  globalSetup: ['tests/support/stores.ts'],
  setupFiles: ['tests/support/worker.ts'],
}

// Every process and thread that a test starts loads compiled modules, from the place where Node keeps them by default:
// a service or command then starts with half the CPU time.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache')

// A file's suffix says what it needs and when it runs:
//   .unit.test.ts                           nothing                                              npm test
//   .int.test.ts                            Kafka and Redis                                      npm test
//   .system.test.ts                         Kafka and Redis, and services as processes           npm test
//   .long.test.ts                           any of these, and more time                          npm run test:all
//   .contract.test.ts, .consumers.test.ts   packages from npm, PyPI and Maven                    a script of their own
export default defineConfig({
  test: {
    // All files share one Kafka and one Redis. Most of them wait now and then, so two cores carry three files at a time.
    maxWorkers: 3,
    // Tests that run concurrently keep a core busy each.
    maxConcurrency: availableParallelism(),
    // The limits are for tests that hang: no test asserts a duration.
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{shared,services,plantctl,tests,bench}/**/*.unit.test.ts'],
          ...project,
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{shared,services,plantctl,tests}/**/*.int.test.ts'],
          ...realStores,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['tests/**/*.system.test.ts'],
          ...realStores,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'long',
          include: ['{shared,services,plantctl,tests}/**/*.long.test.ts'],
          ...realStores,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'contract',
          include: ['tests/contract/*.contract.test.ts'],
          ...realStores,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'consumers',
          include: ['tests/consumers/*.consumers.test.ts'],
          ...realStores,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
