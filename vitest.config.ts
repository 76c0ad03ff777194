import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const realStores = { globalSetup: ['tests/support/stores.ts'], setupFiles: ['tests/support/worker.ts'] }

// The numbers are for two cores: a test waits a good part of its time, for sessions to run out and processes to start.
// The files that one worker runs share their modules: loading them for each file took a third of the time.
const fourAtATime = { maxWorkers: 4, isolate: false, sequence: { groupOrder: 1 } }
const threeAtATime = { maxWorkers: 3, isolate: false, sequence: { groupOrder: 2 } }
const oneAtATime = { maxWorkers: 1, sequence: { groupOrder: 3 } }

// The limits are for tests that hang: no test asserts a duration.
const MINUTE_MS = { testTimeout: 60_000, hookTimeout: 60_000 }
const TWO_MINUTES_MS = { testTimeout: 120_000, hookTimeout: 120_000 }
const TEN_MINUTES_MS = { testTimeout: 600_000, hookTimeout: 120_000 }
// A hook installs packages in up to two steps of 300 s.
const INSTALLING_MS = { testTimeout: 600_000, hookTimeout: 660_000 }

// A file's suffix names its requirements and its command:
//   .unit.test.ts                           nothing                                              npm test
//   .int.test.ts                            Kafka and Redis                                      npm test
//   .system.test.ts                         Kafka and Redis, and services as processes           npm test
//   .long.test.ts                           any of these, Java, and more time                     npm run test:all
//   .secured.test.ts                        Kafka as a process, openssl, Redis, services         npm run test:secured
//   .redis-ha.test.ts                       Kafka, and a Redis that is secured or fails over     npm run test:redis-ha
//   .versions.test.ts                       Java, Maven, Debian's packages, PyPI                 npm run test:versions
//   .chaos.test.ts                          Java, Go, and a former commit; alone, for its time   npm run test:chaos
//   .image.test.ts                          a Docker engine                                      npm run test:image
//   .chart.test.ts                          Go, and what it builds; Kafka and Redis              npm run test:chart
//   .scaffold.test.ts                       Java, Maven, Git                                     npm run test:scaffold
//   .contract.test.ts, .consumers.test.ts   packages from npm, PyPI and Maven                    a separate script

// The projects whose files take longest come first, so that no worker waits for one of them at the end.
const projects = [
  { name: 'scaffold', include: ['tests/*.scaffold.test.ts'], ...oneAtATime, ...INSTALLING_MS, testTimeout: 1_200_000 },
  // The first test of a version downloads it, within 600 s.
  {
    name: 'versions',
    include: ['tests/versions/*.versions.test.ts'],
    ...realStores,
    ...threeAtATime,
    testTimeout: 900_000,
    hookTimeout: 120_000,
  },
  {
    name: 'consumers',
    include: ['tests/consumers/*.consumers.test.ts'],
    ...realStores,
    ...threeAtATime,
    ...INSTALLING_MS,
  },
  {
    name: 'contract',
    include: ['tests/contract/*.contract.test.ts'],
    ...realStores,
    ...threeAtATime,
    ...INSTALLING_MS,
  },
  {
    name: 'chart',
    include: ['tests/chart/*.chart.test.ts'],
    ...realStores,
    ...threeAtATime,
    ...INSTALLING_MS,
    testTimeout: 300_000,
  },
  {
    name: 'redis-ha',
    include: ['tests/redis-ha/*.redis-ha.test.ts'],
    ...realStores,
    ...threeAtATime,
    ...TWO_MINUTES_MS,
  },
  // Three brokers are formatted within 120 s and start within 120 s, before they get users and rights.
  {
    name: 'secured',
    include: ['tests/secured/*.secured.test.ts'],
    ...realStores,
    ...threeAtATime,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
  {
    name: 'long',
    include: ['{shared,services,plantctl,tests}/**/*.long.test.ts'],
    ...realStores,
    ...fourAtATime,
    ...TEN_MINUTES_MS,
  },
  { name: 'system', include: ['tests/**/*.system.test.ts'], ...realStores, ...fourAtATime, ...TEN_MINUTES_MS },
  {
    name: 'integration',
    include: ['{shared,services,plantctl,tests}/**/*.int.test.ts'],
    ...realStores,
    ...fourAtATime,
    ...MINUTE_MS,
  },
  { name: 'unit', include: ['{shared,services,plantctl,tests,bench}/**/*.unit.test.ts'], ...fourAtATime, ...MINUTE_MS },
  { name: 'chaos', include: ['tests/chaos/*.chaos.test.ts'], ...oneAtATime, ...INSTALLING_MS },
  {
    name: 'image',
    include: ['tests/image/*.image.test.ts'],
    ...realStores,
    ...oneAtATime,
    ...INSTALLING_MS,
    testTimeout: 300_000,
  },
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ project }: TestSpecification) => projects.findIndex(({ name }) => name === project.name)
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: projects.map((test) => ({ test })),
  },
})
