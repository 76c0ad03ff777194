import { clientIdOf } from '../event-log/groups.ts'
import { openTransactionText, WRITE_TABLE_ANEW } from '../event-log/topic.ts'
import { undecodableText } from '../event-log/undecodable.ts'
import { reasonText } from '../plant/plant-created.ts'
import { after, BEFORE_FIRST, type LogPosition, type Offset } from '../plant/position.ts'
import { BEFORE_LOG, outOfBounds } from '../protocol/checkpoint.ts'
import { assertFoldVersion, assertPartitionCount } from '../read-model/state.ts'
import { faultsOf } from '../runtime/failures.ts'
import { formatCount, formatNumber, formatPartitions } from '../runtime/format.ts'
import type { PartitionStatus, StoreStatus } from './read-status.ts'

/** Problems, each with its remedy, and notices about what is worth knowing but no problem. */
export type Assessment = { problems: string[]; notices: string[] }

/** As in the alerts, deploy/observability/rules.yml: both report the same problem. */
const LAG_MAX_RECORDS = 10_000

const ENDS_EARLIER =
  'the topic was recreated or lost records at its end. Restore the topic. If this log is the right one'
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
      ...tableOfAnotherLog(status),
      ...projection(status),
      ...damages(partitions),
    ],
    notices: notices(status),
  }
}

/** Generations that another release, or another number of partitions, has folded. */
function foreignFolds({ partitions }: StoreStatus): string[] {
  const folds = partitions
    .flatMap(({ live, filling }) => (filling === undefined ? [live] : [live, filling]))
    .filter(({ checkpoint }) => checkpoint !== undefined)
  const errors = folds.flatMap((state) => [
    ...faultsOf(() => assertFoldVersion(state.fold)),
    ...faultsOf(() => assertPartitionCount(state.partitions, partitions.length)),
  ])
  return [...new Set(errors)]
}

function otherLogs(partitions: readonly PartitionStatus[]): string[] {
  const wrong = partitions.flatMap((one) => {
    const reason = one.end === undefined ? undefined : outOfBounds(one.live.checkpoint ?? BEFORE_LOG, one.end)
    return reason === undefined ? [] : [{ ...one, reason }]
  })
  if (wrong[0] === undefined) return []
  const where = formatPartitions(wrong.map(({ partition }) => partition))
  return [
    `${where}: ${wrong[0].reason}: ${ENDS_EARLIER}, delete the keys of this topic in Redis: projectors then fold it again`,
  ]
}

/** Also without a checkpoint in Redis, rows show that the log was longer. */
function tableOfAnotherLog({ partitions, table }: StoreStatus): string[] {
  if (table === undefined) return []
  const ahead = partitionsWith(
    partitions,
    ({ partition, end }) => end !== undefined && (table.upTo[partition] ?? BEFORE_FIRST) >= end,
  )
  const what = `the table ${table.topic} has plants from beyond the end of the log in ${formatPartitions(ahead)}`
  return ahead.length === 0 ? [] : [`${what}: ${ENDS_EARLIER}, ${WRITE_TABLE_ANEW}`]
}

function projection({ partitions, readers, table }: StoreStatus): string[] {
  const { projectorState, undecodable, refused } = readers
  const projectors = readers.projectors.filter(({ clientId }) => clientId === clientIdOf('projector'))
  const assigned = new Set(projectors.flatMap(({ partitions }) => partitions ?? []))
  const unassigned = partitionsWith(partitions, ({ partition }) => !assigned.has(partition))
  const lag = totalOf(partitions, lagOf)
  const isNext = ({ partition, offset }: LogPosition) => (partitions[partition]?.live.checkpoint?.offset ?? -1) < offset
  return texts(
    ...undecodable.filter(isNext).map(undecodableText),
    projectorState === 'Concealed' &&
      'a program with group.protocol=consumer has joined the consumer group of the projectors, and Kafka shows no member of ' +
        'it: end it. It takes partitions from projectors',
    refused === undefined &&
      projectors.length === 0 &&
      projectorState !== 'Concealed' &&
      'no projector is in the consumer group: new events do not reach the read model. Start one: npm run start:projector, ' +
        'or docker compose up -d projector. If one runs, Kafka has expelled it: its /readyz says why, such as a quota',
    refused === undefined &&
      projectors.length > 0 &&
      projectorState === 'Stable' &&
      unassigned.length > 0 &&
      `no projector reads ${formatPartitions(unassigned)}: check that all of them have the same PLANTS_TOPIC and release, ` +
        'and that no other program is in their group',
    lag > LAG_MAX_RECORDS &&
      `the read model is ${formatCount(lag, 'record')} behind the log. plantctl status --watch shows whether the projectors ` +
        'catch up; if not, they are too slow, Redis refuses their batches, or some use another Redis: read their logs',
    table !== undefined &&
      table.behind > LAG_MAX_RECORDS &&
      `the table ${table.topic} is ${formatCount(table.behind, 'plant')} behind the read model: plantctl status --watch shows ` +
        'whether the projectors catch up; if not, read their logs',
  )
}

const partitionsWith = (partitions: readonly PartitionStatus[], matches: (one: PartitionStatus) => boolean): number[] =>
  partitions.filter(matches).map(({ partition }) => partition)

const texts = (...all: readonly (string | false)[]): string[] => all.filter((text) => text !== false)

/** States that no fold produces. */
function damages(partitions: readonly PartitionStatus[]): string[] {
  const lost = partitionsWith(partitions, ({ live }) => live.live !== '' && live.texts.checkpoint === '')
  const isChanged = ({ checkpoint, sizes, plants, parked }: PartitionStatus['live']) =>
    checkpoint === undefined || sizes.plants !== plants || sizes.order !== plants || sizes.parked !== parked
  const changed = partitionsWith(partitions, ({ live }) => live.texts.checkpoint !== '' && isChanged(live))
  const expiring = partitionsWith(partitions, ({ live }) => Object.values(live.ttlMs).some((ms) => ms > NEVER_EXPIRES))
  return texts(
    lost.length > 0 &&
      `the read model of ${formatPartitions(lost)} is gone: only the live pointer is left. A projector fills it again from ` +
        'the log',
    changed.length > 0 &&
      `${formatPartitions(changed)}: the checkpoint is no offset, or the counts are not those of the plants and parked ` +
        'records: another program changed the read model. plantctl verify lists the differences and the repair',
    expiring.length > 0 &&
      `${formatPartitions(expiring)}: keys of the read model expire: another program set an expiry. plantctl rebuild ` +
        'replaces them',
  )
}

function notices({ partitions, readers, warnings, openTransactions, strangeKeys, topic }: StoreStatus): string[] {
  const { refused } = readers
  const filling = partitionsWith(partitions, (one) => one.filling !== undefined)
  const isRebuilding = readers.rebuilds.length > 0 || refused !== undefined
  const withLeftovers = partitionsWith(partitions, ({ leftovers }) => leftovers.length > 0)
  const parked = totalOf(partitions, ({ live }) => live.parked)
  return texts(
    ...openTransactions.map((one) => openTransactionText(topic, one)),
    ['PreparingRebalance', 'CompletingRebalance'].includes(readers.projectorState) &&
      'the group of the projectors is rebalancing: new events reach the read model when each has joined, or the group ' +
        'has given up one that is down (after 10 s)',
    refused !== undefined && `who reads the log is not known: ${refused}`,
    refused === undefined && readers.apis.length === 0 && 'no api is running',
    filling.length > 0 && isRebuilding && `a rebuild is running: it fills ${formatPartitions(filling)}`,
    filling.length > 0 &&
      !isRebuilding &&
      `a rebuild was interrupted while it filled ${formatPartitions(filling)}: plantctl rebuild continues it`,
    withLeftovers.length > 0 &&
      `leftover generations of ${formatPartitions(withLeftovers)}: plantctl rebuild drops them`,
    parked > 0 &&
      `${formatCount(parked, 'record')} parked: plantctl parked list shows where${reasonTexts(partitions, parked)}`,
    strangeKeys.length > 0 &&
      `${formatNumber(strangeKeys.length)} keys under {${topic}:…} in Redis belong to no generation, such as ${quoted(strangeKeys[0])}`,
    ...warnings,
  )
}

/** The reasons of the parked records, most frequent first. The status reads only some of many records. */
function reasonTexts(partitions: readonly PartitionStatus[], parked: number): string {
  const totals = new Map<number, number>()
  for (const { parkedReasons } of partitions)
    for (const [reason, count] of parkedReasons) totals.set(reason, (totals.get(reason) ?? 0) + count)
  const texts = [...totals].sort(([, a], [, b]) => b - a)
  const looked = texts.reduce((sum, [, count]) => sum + count, 0)
  const least = looked < parked ? 'at least ' : ''
  return texts.map(([reason, count]) => `; ${least}${formatCount(count, 'time')}: ${reasonText(reason)}`).join('')
}

/** A key may have any bytes. */
const quoted = (key = '') => JSON.stringify(key.slice(0, KEY_CHARACTERS))
