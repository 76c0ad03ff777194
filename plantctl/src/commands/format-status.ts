import type { Member } from '@plant-store/shared/event-log/groups.ts'
import { formatBytes, formatCount, formatNumber, formatPartitions } from '@plant-store/shared/runtime/format.ts'
import { assess, checkpointOf, lagOf, totalOf } from '@plant-store/shared/status/assess.ts'
import type { PartitionStatus, StoreStatus } from '@plant-store/shared/status/read-status.ts'
import { type Column, type Paint, tableLines, wrapLines } from '../terminal/layout.ts'
import { safeText } from '../terminal/safe-text.ts'

/** With more partitions than this, only those that stand out are shown, at most this many. */
const ROWS_MAX = 24
const MEMBERS_MAX = 12
const SHORT_NAME = 8
const NAME_CHARACTERS = 100

export type Format = { paint: Paint; columns: number; all: boolean }

/** The status as text. */
export function statusLines(status: StoreStatus, format: Format): string[] {
  return [
    ...verdictLines(status, format),
    '',
    ...totalLines(status, format),
    '',
    ...readerLines(status, format),
    '',
    ...partitionLines(status, format),
  ]
}

function verdictLines(status: StoreStatus, { paint, columns }: Format): string[] {
  const { problems, notices } = assess(status)
  const noticed = notices.length === 0 ? '' : `, ${formatCount(notices.length, 'notice')}`
  const isWell = problems.length === 0
  const verdict = isWell ? `No problems${noticed}.` : formatCount(problems.length, 'problem')
  return [
    paint('bold', paint(isWell ? (notices.length === 0 ? 'green' : 'yellow') : 'red', verdict)),
    ...problems.flatMap((problem) => wrapLines(paint('red', '! '), problem, columns)),
    ...notices.flatMap((notice) => wrapLines(paint('yellow', '- '), notice, columns)),
  ]
}

function totalLines({ topic, partitions, table }: StoreStatus, { columns }: Format): string[] {
  const total = (of: (one: PartitionStatus) => number | undefined) => totalOf(partitions, of)
  const offsets = total(({ end }) => end)
  const plants = total(({ live }) => live.plants)
  const log = [
    formatCount(partitions.length, 'partition'),
    ...(partitions.every(({ end }) => end !== undefined) ? [formatCount(offsets, 'offset')] : []),
    `read model ${formatNumber(total(lagOf))} behind`,
  ]
  const sums = [
    formatCount(plants, 'plant'),
    `${formatNumber(total(({ live }) => live.voids))} void`,
    `${formatNumber(total(({ live }) => live.parked))} parked`,
    `${formatBytes(total(({ bytes }) => bytes))} in Redis`,
  ]
  return [
    ...wrapLines('', `${topic}: ${log.join(', ')}`, columns),
    ...wrapLines('  ', sums.join(', '), columns),
    ...(table === undefined ? [] : [`${table.topic}: ${formatNumber(table.behind)} plants behind`]),
  ]
}

function readerLines({ readers, partitions }: StoreStatus, { paint, columns }: Format): string[] {
  const { projectors, apis, rebuilds, replays } = readers
  const lines = (title: string, members: readonly Member[]) => {
    const shown = members
      .slice(0, MEMBERS_MAX)
      .flatMap((member) => wrapLines('  ', formatMember(member, members, partitions.length), columns))
    const more = members.length > MEMBERS_MAX ? [`  … and ${members.length - MEMBERS_MAX} more`] : []
    return [paint('bold', `${title}: ${members.length === 0 ? 'none' : members.length}`), ...shown, ...more]
  }
  return [
    ...lines('Projectors', projectors),
    ...lines('Apis', apis),
    ...(rebuilds.length === 0 ? [] : lines('Rebuilds', rebuilds)),
    ...(replays.length === 0 ? [] : lines('Replays', replays)),
  ]
}

/** Client ids and assignments are what other programs in the group made them. */
function formatMember(member: Member, members: readonly Member[], count: number): string {
  const { id, clientId, host, partitions } = member
  const isAlike = members.some((other) => other !== member && other.clientId === clientId && other.host === host)
  const name = safeText(isAlike ? `${clientId} ${id}` : clientId, NAME_CHARACTERS)
  return `${name} at ${host}: ${formatAssignment(partitions, count)}`
}

function formatAssignment(partitions: Member['partitions'], count: number): string {
  if (partitions === undefined) return 'unreadable: another program has assigned its partitions'
  if (partitions.length === count) return 'all partitions'
  return partitions.length === 0 ? 'no partitions yet' : formatPartitions(partitions)
}

function partitionLines({ partitions }: StoreStatus, { paint, columns, all }: Format): string[] {
  const shown = all || partitions.length <= ROWS_MAX ? partitions : outstanding(partitions)
  const [titles = '', ...rows] = tableLines(COLUMNS, shown, columns)
  const hidden = partitions.length - shown.length
  const rest = hidden === 0 ? [] : [`${formatCount(hidden, 'more partition')} (--all shows them)`]
  return [...(shown.length === 0 ? [] : [paint('bold', titles)]), ...rows, ...rest]
}

/** Those with a lag, parked records or a rebuild; if they are too many, those with the highest lag. */
function outstanding(partitions: readonly PartitionStatus[]): PartitionStatus[] {
  return partitions
    .filter((one) => {
      const { isRead, filling, leftovers, live } = one
      return !isRead || (lagOf(one) ?? 0) > 0 || filling !== undefined || leftovers.length > 0 || live.parked > 0
    })
    .sort((a, b) => (lagOf(b) ?? 0) - (lagOf(a) ?? 0))
    .slice(0, ROWS_MAX)
    .sort((a, b) => a.partition - b.partition)
}

const number = (
  title: string,
  of: (one: PartitionStatus) => number | undefined,
  dropRank?: number,
): Column<PartitionStatus> => ({
  title,
  align: 'right',
  cell: (one) => {
    const value = of(one)
    return value === undefined || Number.isNaN(value) ? '?' : formatNumber(value)
  },
  ...(dropRank !== undefined && { dropRank }),
})

const COLUMNS: Column<PartitionStatus>[] = [
  number('partition', ({ partition }) => partition),
  number('log end', ({ end }) => end, 3),
  {
    title: 'checkpoint',
    align: 'right',
    cell: (one) => (one.live.checkpoint ? formatNumber(checkpointOf(one)) : '-'),
    dropRank: 2,
  },
  number('lag', lagOf),
  number('plants', ({ live }) => live.plants, 1),
  number('voids', ({ live }) => live.voids, 4),
  number('parked', ({ live }) => live.parked, 2),
  { title: 'size', align: 'right', cell: ({ isRead, bytes }) => (isRead ? formatBytes(bytes) : '?'), dropRank: 4 },
  { title: 'generation', cell: formatGenerations, dropRank: 5 },
]

function formatGenerations({ isRead, live, filling, leftovers }: PartitionStatus): string {
  const short = (name: string) => safeText(name.slice(0, SHORT_NAME), SHORT_NAME)
  if (!isRead) return 'unreadable'
  const words = [live.live === '' ? 'none' : short(live.live)]
  if (filling !== undefined) {
    words.push(`filling ${short(filling.generation)} (at ${formatNumber(filling.checkpoint?.offset ?? -1)})`)
  }
  if (leftovers.length > 0) words.push(`${leftovers.length} leftover`)
  return words.join(', ')
}
