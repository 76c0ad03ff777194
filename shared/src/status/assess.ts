import type { Readers } from '../event-log/groups.ts'
import { openTransactionText } from '../event-log/topic.ts'
import { reasonText } from '../plant/plant-created.ts'
import { after, BEFORE_FIRST, type Offset } from '../plant/position.ts'
import { BEFORE_LOG, outOfBounds } from '../protocol/checkpoint.ts'
import { assertFoldVersion, assertPartitionCount } from '../read-model/state.ts'
import { formatCount, formatNumber, formatPartitions } from '../runtime/format.ts'
import type { PartitionStatus, StoreStatus } from './read-status.ts'

/** Problems, each with its remedy, and notices about what is worth knowing but no problem. */
export type Assessment = { problems: string[]; notices: string[] }

/** As in the alerts, deploy/observability/rules.yml: both report the same problem. */
const LAG_MAX_RECORDS = 10_000

const NEVER_EXPIRES = -1
const KEY_CHARACTERS = 80

/** Offsets of the log that the read model has not passed; undefined while one of the two cannot be read. */
export function lagOf({ isRead, end, live }: PartitionStatus): number | undefined {
  return end === undefined || !isRead ? undefined : Math.max(0, end - after(checkpointOf({ live })))
}

export function checkpointOf({ live }: Pick<PartitionStatus, 'live'>): Offset {
  return live.checkpoint?.offset ?? BEFORE_FIRST
}

export function totalOf(
  partitions: readonly PartitionStatus[],
  of: (one: PartitionStatus) => number | undefined,
): number {
  return partitions.reduce((sum, one) => sum + (of(one) || 0), 0)
}

export function assess(status: StoreStatus): Assessment {
  const { partitions, broken } = status
  return {
    problems: [
      ...broken,
      ...foreignFolds(status),
      ...otherLogs(partitions),
      ...projection(status),
      ...tableProblems(status),
      ...damages(partitions),
    ],
    notices: notices(status),
  }
}

/** Generations that another release, or another number of partitions, has folded. */
function foreignFolds({ partitions }: StoreStatus): string[] {
  const errors = partitions.flatMap(({ live, filling }) =>
    [live, filling].flatMap((state) =>
      state?.checkpoint === undefined
        ? []
        : [
            messageOf(() => assertFoldVersion(state.fold)),
            messageOf(() => assertPartitionCount(state.partitions, partitions.length)),
          ],
    ),
  )
  return [...new Set(errors.filter((text) => text !== undefined))]
}

function messageOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function otherLogs(partitions: readonly PartitionStatus[]): string[] {
  const wrong = partitions.flatMap((one) => {
    const reason = one.end === undefined ? undefined : outOfBounds(one.live.checkpoint ?? BEFORE_LOG, one.end)
    return reason === undefined ? [] : [{ ...one, reason }]
  })
  if (wrong[0] === undefined) return []
  const where = formatPartitions(wrong.map(({ partition }) => partition))
  return [
    `${where}: ${wrong[0].reason}: the topic was recreated or lost records at its end. Restore the topic. If this log is ` +
      'the right one, delete the keys of this topic in Redis: projectors then fold it again',
  ]
}

function projection({ partitions, readers }: StoreStatus): string[] {
  return [...(readers.refused === undefined ? projectorProblems(partitions, readers) : []), ...lagProblems(partitions)]
}

function projectorProblems(partitions: readonly PartitionStatus[], readers: Readers): string[] {
  const { projectors, projectorState } = readers
  const assigned = new Set(projectors.flatMap(({ partitions }) => partitions ?? []))
  const unassigned = partitionsWith(partitions, ({ partition }) => !assigned.has(partition))
  if (projectors.length === 0) {
    return [
      'no projector is in the consumer group: new events do not reach the read model. Start one: npm run start:projector, ' +
        'or docker compose up -d projector. If one runs, Kafka has expelled it: its /readyz says why, such as a quota',
    ]
  }
  if (projectorState !== 'Stable' || unassigned.length === 0) return []
  return [
    `no projector reads ${formatPartitions(unassigned)}: check that all of them have the same PLANTS_TOPIC and release`,
  ]
}

function lagProblems(partitions: readonly PartitionStatus[]): string[] {
  const lag = totalOf(partitions, lagOf)
  if (lag <= LAG_MAX_RECORDS) return []
  return [
    `the read model is ${formatCount(lag, 'record')} behind the log. plantctl status --watch shows whether the projectors ` +
      'catch up; if not, they are too slow or Redis refuses their batches: read their logs',
  ]
}

function tableProblems({ table }: StoreStatus): string[] {
  if (table === undefined || table.behind <= LAG_MAX_RECORDS) return []
  return [
    `the table ${table.topic} is ${formatCount(table.behind, 'plant')} behind the read model: plantctl status --watch shows ` +
      'whether the projectors catch up; if not, read their logs',
  ]
}

const partitionsWith = (partitions: readonly PartitionStatus[], matches: (one: PartitionStatus) => boolean): number[] =>
  partitions.filter(matches).map(({ partition }) => partition)

/** States that no fold produces. */
function damages(partitions: readonly PartitionStatus[]): string[] {
  const lost = partitionsWith(partitions, ({ live }) => live.live !== '' && live.checkpoint === undefined)
  const miscounted = partitionsWith(
    partitions,
    ({ live }) =>
      live.checkpoint !== undefined &&
      (live.sizes.plants !== live.plants || live.sizes.order !== live.plants || live.sizes.parked !== live.parked),
  )
  const expiring = partitionsWith(partitions, ({ live }) => Object.values(live.ttlMs).some((ms) => ms > NEVER_EXPIRES))
  const problems: string[] = []
  if (lost.length > 0) {
    problems.push(
      `the read model of ${formatPartitions(lost)} is gone: only the live pointer is left. A projector fills it again from ` +
        'the log',
    )
  }
  if (miscounted.length > 0) {
    problems.push(
      `${formatPartitions(miscounted)}: the numbers of plants or parked records do not match the counts: another program ` +
        'changed the read model. plantctl verify lists the differences, plantctl rebuild repairs them',
    )
  }
  if (expiring.length > 0) {
    problems.push(
      `${formatPartitions(expiring)}: keys of the read model expire: another program set an expiry. plantctl rebuild ` +
        'replaces them',
    )
  }
  return problems
}

function notices({ partitions, readers, warnings, openTransactions, strangeKeys, topic }: StoreStatus): string[] {
  const notices: string[] = []
  const filling = partitionsWith(partitions, (one) => one.filling !== undefined)
  const withLeftovers = partitionsWith(partitions, ({ leftovers }) => leftovers.length > 0)
  const parked = totalOf(partitions, ({ live }) => live.parked)
  if (['PreparingRebalance', 'CompletingRebalance'].includes(readers.projectorState)) {
    notices.push(
      'the group of the projectors is rebalancing: new events reach the read model when each has joined, or the group ' +
        'has given up one that is down (after 10 s)',
    )
  }
  if (readers.refused !== undefined) notices.push(`who reads the log is not known: ${readers.refused}`)
  else if (readers.apis.length === 0) notices.push('no api is running')
  if (filling.length > 0) {
    notices.push(
      readers.rebuilds.length > 0 || readers.refused !== undefined
        ? `a rebuild is running: it fills ${formatPartitions(filling)}`
        : `a rebuild was interrupted while it filled ${formatPartitions(filling)}: plantctl rebuild continues it`,
    )
  }
  if (withLeftovers.length > 0) {
    notices.push(`leftover generations of ${formatPartitions(withLeftovers)}: plantctl rebuild drops them`)
  }
  if (parked > 0) {
    notices.push(`${formatCount(parked, 'record')} parked: plantctl parked list shows where${reasonTexts(partitions)}`)
  }
  if (strangeKeys.length > 0) {
    notices.push(
      `${formatNumber(strangeKeys.length)} keys under {${topic}:…} in Redis belong to no generation, such as ${quoted(strangeKeys[0])}`,
    )
  }
  return [...openTransactions.map((one) => openTransactionText(topic, one)), ...notices, ...warnings]
}

/** The reasons of the parked records, most frequent first. */
function reasonTexts(partitions: readonly PartitionStatus[]): string {
  const totals = new Map<number, number>()
  for (const { parkedReasons } of partitions)
    for (const [reason, count] of parkedReasons) totals.set(reason, (totals.get(reason) ?? 0) + count)
  const texts = [...totals].sort(([, a], [, b]) => b - a)
  return texts.map(([reason, count]) => `; ${formatCount(count, 'time')}: ${reasonText(reason)}`).join('')
}

/** A key may have any bytes. */
const quoted = (key = '') => JSON.stringify(key.slice(0, KEY_CHARACTERS))
