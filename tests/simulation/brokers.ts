import type { AppendResult } from '@plant-store/shared/event-log/append.ts'
import { AppendRefused, type RefusalKind } from '@plant-store/shared/event-log/broker-errors.ts'
import type { LaneOptions } from '@plant-store/shared/event-log/lanes.ts'
import type { NewRecord } from '@plant-store/shared/plant/plant-created.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import type { SimulatedProcess } from './clock.ts'
import type { Log } from './kafka.ts'
import type { Network } from './network.ts'
import type { Random } from './random.ts'

const BROKERS = 2
/** The share of attempts that a partition refuses, in schedules where it refuses some. */
const REFUSED = 0.3
/** The share of fetches from a replica that lags, in schedules with such replicas. */
const LAGGING = 0.1
const ATTEMPT_REFUSALS = ['transient', 'permanent', undefined, undefined] as const

export type Brokers = ReturnType<typeof createBrokers>

/** The leaders of the partitions, what they refuse, and the replicas that lag behind them. */
export function createBrokers(
  log: Log,
  refusals: Random,
  { refusesAppends, hasLag }: { refusesAppends: boolean; hasLag: boolean },
) {
  let [mayRefuse, mayLag] = [refusesAppends, hasLag]
  const leaders: (number | undefined)[] = log.ends().map((_, partition) => partition % BROKERS)

  /** Refuses a record by its event, so that it is refused again, and its neighbours are not. */
  const isOffending = ({ headers }: NewRecord) => /[05]-/.test(String(headers.ce_id).slice(7, 9))

  function refusalOf(leader: number, records: readonly NewRecord[]): RefusalKind | undefined {
    const [first] = records
    if (first === undefined || leaders[first.partition] !== leader) return 'transient'
    if (!mayRefuse) return undefined
    if (records.some(isOffending)) return 'records'
    return refusals.chance(REFUSED) ? (refusals.pick([...ATTEMPT_REFUSALS]) as RefusalKind | undefined) : undefined
  }

  const ends = (): (Offset | undefined)[] => log.ends().map((end, p) => (leaders[p] === undefined ? undefined : end))

  return {
    leaders: () => [...leaders],

    /** The ends of the log, without those of partitions without a leader. */
    ends,

    /** Throws while a partition has no leader. */
    allEnds(): Offset[] {
      const known = ends().filter((end) => end !== undefined)
      if (known.length < leaders.length) throw new Error('no leader')
      return known
    },

    /** The end that a fetch finds, perhaps at a replica that lags; undefined without a leader. */
    fetchedEnd(partition: Partition, random: Random): Offset | undefined {
      const end = ends()[partition]
      return end !== undefined && mayLag && random.chance(LAGGING) ? (random.below(end + 1) as Offset) : end
    },

    /** A partition gets another leader, or none. */
    elect(random: Random): number | undefined {
      const partition = random.below(leaders.length)
      leaders[partition] = random.chance(0.3) ? undefined : random.below(BROKERS)
      return leaders[partition]
    },

    /** From now on no append is refused, no replica lags, and each partition has a leader. */
    recover(): void {
      mayRefuse = false
      mayLag = false
      for (const partition of allPartitions(leaders.length)) leaders[partition] ??= 0
    },

    /** Appends the records of one partition, or refuses them; when it is repeated, likewise. */
    attempt(leader: number, records: readonly NewRecord[]): () => AppendResult {
      let refusal: RefusalKind | undefined
      let isFirst = true
      return () => {
        if (isFirst) refusal = refusalOf(leader, records)
        isFirst = false
        if (refusal !== undefined) return { is: 'refused', why: refusal, cause: new AppendRefused(refusal) }
        const [base] = records.map(log.append)
        return { is: 'appended', base }
      }
    },
  }
}

/** A record that a process has sent, and whether Kafka has responded that it was refused. */
export type SentRecord = { record: NewRecord; isRefused: boolean }

/** The appender of one process; `reportsBases`: true if the brokers are new enough to report where a batch starts. */
export function createSimulatedAppender(
  process: SimulatedProcess,
  reportsBases: boolean,
  sent: SentRecord[],
  { brokers, network }: { brokers: Brokers; network: Network },
): LaneOptions['appender'] {
  let known: (number | undefined)[] = brokers.leaders()
  return {
    leaderOf: (partition) => known[partition],

    noLeader: () => ({ is: 'refused', why: 'transient', cause: new AppendRefused('no leader') }),

    heldBackMs: () => 0,

    async refreshLeaders() {
      known = await network.call(process, 'read of the leaders', brokers.leaders).catch(() => known)
    },

    responds: () =>
      network
        .call(process, 'request to a leader', () => true)
        .then(
          () => true,
          () => false,
        ),

    async send(leader, channel, batches, signal) {
      const all = [...batches].map(([partition, records]) => ({
        partition,
        attempt: brokers.attempt(leader, records),
        sent: records.map((record) => ({ record, isRefused: false })),
      }))
      for (const batch of all) sent.push(...batch.sent)
      const keys = () => [...batches.values()].flat().map(({ key }) => key.toString())
      const what = `append of ${keys().join(', ')} to broker ${leader}, ${channel}`
      const lost = (cause: Error) =>
        new Map<Partition, AppendResult>(all.map(({ partition }) => [partition, { is: 'unknown', cause }]))
      const superseded = new Promise<ReturnType<typeof lost>>((resolve) => {
        signal?.addEventListener('abort', () => resolve(lost(new Error('superseded'))), { once: true })
      })
      const answered = network
        .callAll(
          process,
          what,
          all.map(({ attempt }) => attempt),
        )
        .then(
          (results) =>
            new Map<Partition, AppendResult>(
              all.map(({ partition, sent }, n) => {
                const result = results[n] as AppendResult
                for (const each of sent) each.isRefused = result.is === 'refused'
                const byName: AppendResult = { is: 'appended', base: undefined }
                return [partition, result.is === 'appended' && !reportsBases ? byName : result] as const
              }),
            ),
          lost,
        )
      return await Promise.race([answered, superseded])
    },
  }
}
