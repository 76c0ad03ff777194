import type { Member } from '@plant-store/shared/event-log/groups.ts'
import { BEFORE_FIRST } from '@plant-store/shared/plant/position.ts'
import { formatBytes, formatCount, formatNumber, formatPartitions } from '@plant-store/shared/runtime/format.ts'
import type { StatusJson } from '@plant-store/shared/status/status-json.ts'
import { type Column, type Paint, tableLines, wrapLines } from '../terminal/layout.ts'
import { safeText } from '../terminal/safe-text.ts'

/** With more partitions than this, only those that stand out are shown, at most this many. */
const ROWS_MAX = 24
const MEMBERS_MAX = 12
const SHORT_NAME = 8
const NAME_CHARACTERS = 100

export type Format = { paint: Paint; columns: number; all: boolean }

type PartitionJson = StatusJson['partitions'][number]

export function statusLines(status: StatusJson, format: Format): string[] {
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

function verdictLines({ problems, notices }: StatusJson, { paint, columns }: Format): string[] {
  const noticed = notices.length === 0 ? '' : `, ${formatCount(notices.length, 'notice')}`
  const isWell = problems.length === 0
  const verdict = isWell ? `No problems${noticed}.` : formatCount(problems.length, 'problem')
  return [
    paint('bold', paint(isWell ? (notices.length === 0 ? 'green' : 'yellow') : 'red', verdict)),
    ...problems.flatMap((problem) => wrapLines(paint('red', '! '), problem, columns)),
    ...notices.flatMap((notice) => wrapLines(paint('yellow', '- '), notice, columns)),
  ]
}

function totalLines({ topic, partitions, totals, table }: StatusJson, { columns }: Format): string[] {
  const { offsets, lag, plants, voids, parked, bytes } = totals
  const log = `${formatCount(partitions.length, 'partition')}, ${count(offsets, 'offset')}, read model ${known(lag)} behind`
  const sums = `${count(plants, 'plant')}, ${known(voids)} void, ${known(parked)} parked, ${known(bytes, formatBytes)} in Redis`
  return [
    ...wrapLines('', `${topic}: ${log}`, columns),
    ...wrapLines('  ', sums, columns),
    ...(table === undefined ? [] : [`${table.topic}: ${formatNumber(table.behind)} plants behind`]),
  ]
}

function readerLines(status: StatusJson, { paint, columns }: Format): string[] {
  const { partitions, projectors, apis, rebuilds, replays } = status
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

function partitionLines({ partitions }: StatusJson, { paint, columns, all }: Format): string[] {
  const shown = all || partitions.length <= ROWS_MAX ? partitions : outstanding(partitions)
  const [titles = '', ...rows] = tableLines(COLUMNS, shown, columns)
  const hidden = partitions.length - shown.length
  const rest = hidden === 0 ? [] : [`${formatCount(hidden, 'more partition')} (--all shows them)`]
  return [...(shown.length === 0 ? [] : [paint('bold', titles)]), ...rows, ...rest]
}

/** Those with a lag, parked records or a rebuild; if they are too many, those with the highest lag. */
function outstanding(partitions: readonly PartitionJson[]): PartitionJson[] {
  return partitions
    .filter(({ lag, bytes, filling, leftovers, parked }) => {
      return !isKnown(bytes) || (lag ?? 0) > 0 || filling !== undefined || leftovers.length > 0 || parked > 0
    })
    .sort((a, b) => (b.lag ?? 0) - (a.lag ?? 0))
    .slice(0, ROWS_MAX)
    .sort((a, b) => a.partition - b.partition)
}

const isKnown = (value: number | null): value is number => value !== null && !Number.isNaN(value)
const known = (value: number | null, format = formatNumber) => (isKnown(value) ? format(value) : '?')
const count = (value: number | null, one: string) => (isKnown(value) ? formatCount(value, one) : `? ${one}s`)

const COLUMNS: Column<PartitionJson>[] = [
  { title: 'partition', align: 'right', cell: ({ partition }) => formatNumber(partition) },
  { title: 'log end', align: 'right', cell: ({ end }) => known(end), dropRank: 3 },
  {
    title: 'checkpoint',
    align: 'right',
    cell: ({ checkpoint }) => (checkpoint === BEFORE_FIRST ? '-' : formatNumber(checkpoint)),
    dropRank: 2,
  },
  { title: 'lag', align: 'right', cell: ({ lag }) => known(lag) },
  { title: 'plants', align: 'right', cell: ({ plants }) => known(plants), dropRank: 1 },
  { title: 'voids', align: 'right', cell: ({ voids }) => known(voids), dropRank: 4 },
  { title: 'parked', align: 'right', cell: ({ parked }) => known(parked), dropRank: 2 },
  { title: 'size', align: 'right', cell: ({ bytes }) => known(bytes, formatBytes), dropRank: 4 },
  { title: 'generation', cell: formatGenerations, dropRank: 5 },
]

function formatGenerations({ bytes, generation, filling, leftovers }: PartitionJson): string {
  const short = (name: string) => safeText(name.slice(0, SHORT_NAME), SHORT_NAME)
  if (!isKnown(bytes)) return 'unreadable'
  const words = [generation === null ? 'none' : short(generation)]
  if (filling !== undefined) words.push(`filling ${short(filling.generation)} (at ${formatNumber(filling.checkpoint)})`)
  if (leftovers.length > 0) words.push(`${leftovers.length} leftover`)
  return words.join(', ')
}
