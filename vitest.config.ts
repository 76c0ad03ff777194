import { defineConfig } from 'vitest/config'

const realStores = { globalSetup: ['tests/support/stores.ts'], setupFiles: ['tests/support/worker.ts'] }

export default defineConfig({
  test: {
    // Two cores carry Kafka, Redis and the services under test: one file at a time.
    fileParallelism: false,
    // Each limit here is for what hangs: no test is about time.
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{shared,services,plantctl,tests,bench}/**/*.unit.test.ts'],
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
        // Fetches what it runs from PyPI and npm: `npm run test:contract`, no part of `npm test`.
        test: {
          name: 'contract',
          include: ['tests/contract/*.contract.test.ts'],
          ...realStores,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        // What other teams build on. Fetches what it runs from npm, PyPI and Maven: `npm run test:consumers`, no part of `npm test`.
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
