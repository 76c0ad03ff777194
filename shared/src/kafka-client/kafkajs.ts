import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { compileFunction } from 'node:vm'
import type { Admin, Consumer, Producer } from 'kafkajs'
import { TransientMap } from '../runtime/transient-map.ts'
import { boundedConnections, boundedPools, monotonicNow, withClosedPools, withFreshVersions } from './connections.ts'
import { correctedRunners, groupsWithLiveBrokers, type Reader } from './consumer-group.ts'
import { batchesWithoutRecords, decodeSizedRecords, keepCommitted } from './fetched-records.ts'
import { firstBroker } from './first-broker.ts'
import type { Cluster } from './kafkajs-parts.ts'
import { createLeaderProducer, type LeaderProducer, type ProduceDefinition } from './leader-producer.ts'
import { metadataAsTheyAre, readLedPartitions } from './leaderless.ts'
import { followNewestLeaders, useNewestLeaders } from './newest-leaders.ts'
import { fetchByTopicId, fetchWithTopicIds, metadataWithTopicIds, produceByTopicId } from './topic-ids.ts'
import { createTransactions, type Transactions } from './transactions.ts'

// kafkajs with its corrections. Nothing else loads the package; README.md lists each correction.

/** The corrections replace modules of this version. */
const VERSION = '2.2.4'

const PENDING_CHECK_MS = 10
const READ_UNCOMMITTED = 0

// biome-ignore lint/suspicious/noExplicitAny: the exports of a module of another package.
type Exports = any
type Module = { exports: Exports }

const MODULE_PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']

/**
 * A private copy of the CommonJS modules of kafkajs. The application may load kafkajs, too, and must not see the
 * corrections. Clearing `require.cache` is not enough, because kafkajs requires many of its modules only when it needs
 * them. Packages that kafkajs requires are shared. Throws when the installed version is not the expected one.
 *
 * @param globals what the modules find under these names instead of global objects
 */
export function createPrivateKafkajs(version = VERSION, globals: Readonly<Record<string, unknown>> = {}) {
  const manifest = createRequire(import.meta.url).resolve('kafkajs/package.json')
  const root = dirname(manifest)
  const installed = JSON.parse(readFileSync(manifest, 'utf8'))
  if (installed.version !== version) {
    throw new Error(
      `kafkajs ${installed.version} is installed, but the corrections are for ${version}: install ${version}, or ` +
        'compare each corrected module with that of the new version and then change the version here',
    )
  }
  const loaded = new Map<string, Module>()

  function loadFile(file: string): Exports {
    const known = loaded.get(file)
    if (known !== undefined) return known.exports
    const module: Module = { exports: {} }
    // Before the module runs, because modules may require each other in a cycle.
    loaded.set(file, module)
    const source = readFileSync(file, 'utf8')
    if (file.endsWith('.json')) module.exports = JSON.parse(source)
    else run(file, source, module)
    return module.exports
  }

  function run(file: string, source: string, module: Module): void {
    const sharedRequire = createRequire(file)
    const require = (name: string) => {
      const resolved = sharedRequire.resolve(name)
      return resolved.startsWith(root + sep) ? loadFile(resolved) : sharedRequire(name)
    }
    const compiled = compileFunction(source, [...MODULE_PARAMETERS, ...Object.keys(globals)], { filename: file })
    const { exports } = module
    compiled.call(exports, exports, require, module, file, dirname(file), ...Object.values(globals))
  }

  function replace(path: string, exports: unknown): void {
    loaded.set(join(root, path), { exports })
  }

  return {
    load: (path: string): Exports => loadFile(join(root, path)),

    /** Loads every module of the package: later, a process without free file descriptors could not load it. */
    loadAll(): void {
      for (const path of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
        if (path.endsWith('.js')) loadFile(join(root, 'src', path))
      }
    },

    /** Replaces the exports of a file for all modules that load it from now on. */
    replace,

    /** As `replace`, by what `corrected` makes of its exports, which it returns. */
    correct<T>(path: string, corrected: (exports: Exports) => T): T {
      const exports = corrected(loadFile(join(root, path)))
      replace(path, exports)
      return exports
    },
  }
}

/**
 * kafkajs measures time by the system clock. When that is set back by an hour, a consumer sends no heartbeat for an
 * hour, and its group expels it; when it is set forward, all requests in flight time out. This `now` does not jump.
 */
class MonotonicDate extends Date {
  static override now = monotonicNow
}

type RequestQueue = {
  inflight: unknown
  pending: unknown[]
  throttledUntil: number
  throttleCheckTimeoutId: NodeJS.Timeout | null
  checkPendingRequests(): void
  scheduleCheckPendingRequests(): void
}

function correctedQueue(RequestQueue: new (...options: unknown[]) => RequestQueue) {
  return class extends RequestQueue {
    // The queue is short, but hundreds of entries with their payloads pass through it each second. A Map would retain
    // the deleted entries long enough to amount to a leak.
    override inflight = new TransientMap<number, unknown>()

    /**
     * kafkajs re-arms a timer of about 1 ms forever on each connection. That costs some 900 wake-ups a second, and
     * prints a TimeoutNegativeWarning since Node 24. This timer is armed only while requests are pending.
     */
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return
      const throttledMs = this.throttledUntil - MonotonicDate.now()
      this.throttleCheckTimeoutId = setTimeout(
        () => {
          this.throttleCheckTimeoutId = null
          this.checkPendingRequests()
        },
        Math.max(throttledMs, PENDING_CHECK_MS),
      )
    }
  }
}

export type ExtendedAdmin = Admin & {
  /** As `fetchTopicOffsets`, with the records of open transactions; not while another call reads offsets. */
  fetchWrittenOffsets: Admin['fetchTopicOffsets']
  /**
   * The error of a leader that did not respond; undefined if each did. The offsets of its partitions are left out, as
   * those without a leader.
   */
  unreachable(): Error | undefined
  /** The highest version of a request that one of the brokers knows; undefined when it does not know the request. */
  highestVersion(apiKey: number): Promise<number | undefined>
  /** Commits offsets for a group, with their metadata. Rejects when the group has members. */
  commitOffsets(groupId: string, topic: string, partitions: readonly CommittedOffset[]): Promise<void>
}
type CommittedOffset = { partition: number; offset: string; metadata: string }
/** kafkajs makes each admin, consumer and producer from such parts. */
type Parts = { cluster: Cluster & { reader?: Reader } }
/** The fields of a commit by a program that is not a member of the group. */
const NO_MEMBER = { groupGenerationId: -1, memberId: '', retentionTime: -1 }

/**
 * Only consumers of kafkajs can read uncommitted records, and these do not return offsets. Its `setOffsets` commits no
 * metadata, and it keeps the versions of the brokers to itself.
 */
function extendedAdmins(createAdmin: (parts: Parts) => Admin) {
  return (parts: Parts): ExtendedAdmin => {
    const unreachable = new Map<number | undefined, Error>()
    readLedPartitions(parts.cluster, { unreachable })
    useNewestLeaders(parts.cluster)
    const admin = createAdmin(parts)
    return {
      ...admin,
      async fetchWrittenOffsets(topic) {
        parts.cluster.isolationLevel = READ_UNCOMMITTED
        try {
          return await admin.fetchTopicOffsets(topic)
        } finally {
          delete parts.cluster.isolationLevel
        }
      },

      unreachable: () => [...unreachable.values()][0],

      highestVersion: (apiKey) =>
        parts.cluster.brokerPool.withBroker(async ({ broker }) => broker.versions?.[apiKey]?.maxVersion),

      async commitOffsets(groupId, topic, partitions) {
        const coordinator = await parts.cluster.findGroupCoordinator({ groupId })
        await coordinator.offsetCommit({ groupId, ...NO_MEMBER, topics: [{ topic, partitions }] })
      },
    }
  }
}

export type ExtendedConsumer = Consumer & {
  /** Before `run`. */
  readFor(reader: Reader): void
}
/** The start of a consumer in a partition whose offsets are unknown; the readers here seek. */
const FIRST_OFFSET = '0'

function extendedConsumers(createConsumer: (parts: Parts) => Consumer) {
  return (parts: Parts): ExtendedConsumer => {
    const { cluster } = parts
    readLedPartitions(cluster, { unknownOffset: FIRST_OFFSET })
    followNewestLeaders(cluster)
    fetchWithTopicIds(cluster.brokerPool, (topic) => cluster.reader?.topicIdOf?.(topic))
    return {
      ...createConsumer(parts),
      readFor(reader) {
        cluster.reader = reader
      },
    }
  }
}

export type ExtendedProducer = Producer & {
  leadersOf(topic: string): LeaderProducer
  transactionsOf(topic: string): Transactions
}

function extendedProducers(createProducer: (parts: Parts) => Producer, produce: ProduceDefinition) {
  return (parts: Parts): ExtendedProducer => ({
    ...createProducer(parts),
    leadersOf: (topic) => createLeaderProducer(parts.cluster, produce, topic),
    transactionsOf: (topic) => createTransactions(parts.cluster, topic),
  })
}

const modules = createPrivateKafkajs(VERSION, { Date: MonotonicDate })

function load(): typeof import('kafkajs') {
  const { correct, load, replace } = modules
  // Each replacement comes before the modules that use it are loaded.
  replace('src/consumer/filterAbortedMessages.js', keepCommitted)
  correct('src/consumer/batch.js', batchesWithoutRecords)
  correct('src/network/requestQueue/index.js', correctedQueue)
  replace('src/protocol/requests/fetch/v4/decodeMessages.js', decodeSizedRecords)
  correct('src/protocol/requests/fetch/index.js', fetchByTopicId)
  correct('src/protocol/requests/metadata/v0/response.js', metadataAsTheyAre)
  correct('src/protocol/requests/metadata/index.js', metadataWithTopicIds)
  const errors = load('src/errors.js')
  correct('src/network/connection.js', (original) => boundedConnections(original, errors))
  correct('src/cluster/connectionPoolBuilder.js', (original) => boundedPools(original, errors))
  const broker = load('src/broker/index.js').prototype
  broker.connect = withFreshVersions(broker.connect)
  const cluster = load('src/cluster/index.js').prototype
  Object.assign(cluster, withClosedPools(cluster))
  // kafkajs uses the API versions of the first broker for all brokers. During a rolling upgrade, each has its own.
  const brokerPool = load('src/cluster/brokerPool.js').prototype
  Object.defineProperty(brokerPool, 'versions', { get: () => null, set() {} })
  Object.assign(brokerPool, firstBroker)
  // The admin loads the consumer, too.
  correct('src/consumer/consumerGroup.js', (original) => groupsWithLiveBrokers(original, errors))
  correct('src/consumer/runner.js', correctedRunners)
  correct('src/admin/index.js', extendedAdmins)
  correct('src/consumer/index.js', extendedConsumers)
  const produce = produceByTopicId(load('src/protocol/requests/produce/index.js'))
  correct('src/producer/index.js', (original) => extendedProducers(original, produce))
  modules.loadAll()
  return load('index.js')
}

export const kafkajs = load()

/** Returns the exports of a module of the corrected kafkajs, by its path in the package. */
export const kafkajsModule = modules.load
