import type { Member } from '@plant-store/shared/event-log/groups.ts'
import type { Paint } from '../../terminal/paint.ts'
import { partitionsNamed } from '../../terminal/partitions-named.ts'
import { counted, grouped, sized } from '../../terminal/quantity.ts'
import { type Column, tableLines } from '../../terminal/table.ts'
import { wrapped } from '../../terminal/wrap.ts'
import { checkpointOf, judge, lagOf, totalOf } from './judge.ts'
import type { PartitionStatus, StoreStatus } from './read-status.ts'

/** With more than this many partitions only those are shown that stand out, and of those as many. */
const ROWS_MAX = 24
const MEMBERS_MAX = 12
const SHORT_NAME = 8

export type Showing = { paint: Paint; columns: number; all: boolean }

/** The status for a person. */
export function statusLines(status: StoreStatus, showing: Showing): string[] {
  return [
    ...verdictLines(status, showing),
    '',
    ...totalLines(status, showing),
    '',
    ...readerLines(status, showing),
    '',
    ...partitionLines(status, showing),
  ]
}

function verdictLines(status: StoreStatus, { paint, columns }: Showing): string[] {
  const { problems, notices } = judge(status)
  const verdict =
    problems.length === 0 ? paint('green', 'All well.') : paint('red', counted(problems.length, 'problem'))
  return [
    paint('bold', verdict),
    ...problems.flatMap((problem) => wrapped(paint('red', '! '), problem, columns)),
    ...notices.flatMap((notice) => wrapped(paint('yellow', '- '), notice, columns)),
  ]
}

function totalLines({ topic, partitions }: StoreStatus, { columns }: Showing): string[] {
  const total = (of: (one: PartitionStatus) => number | undefined) => totalOf(partitions, of)
  const log = [counted(partitions.length, 'partition')]
  if (partitions.every(({ end }) => end !== undefined))
    log.push(
      counted(
        total(({ end }) => end),
        'offset',
      ),
    )
  log.push(`read model ${grouped(total(lagOf))} behind`)
  const sums = [
    counted(
      total(({ live }) => live.plants),
      'plant',
    ),
    `${grouped(total(({ live }) => live.voids))} void`,
    `${grouped(total(({ live }) => live.parked))} parked`,
    `${sized(total(({ bytes }) => bytes))} in Redis`,
  ]
  return [...wrapped('', `${topic}: ${log.join(', ')}`, columns), ...wrapped('  ', sums.join(', '), columns)]
}

function readerLines({ readers, partitions }: StoreStatus, { paint, columns }: Showing): string[] {
  const { projectors, apis, rebuilds, replays } = readers
  const lines = (title: string, members: readonly Member[]) => {
    const told = members
      .slice(0, MEMBERS_MAX)
      .flatMap((member) => wrapped('  ', memberWords(member, partitions.length), columns))
    const more = members.length > MEMBERS_MAX ? [`  … and ${members.length - MEMBERS_MAX} more`] : []
    return [paint('bold', `${title}: ${members.length === 0 ? 'none' : members.length}`), ...told, ...more]
  }
  return [
    ...lines('Projectors', projectors),
    ...lines('Apis', apis),
    ...(rebuilds.length === 0 ? [] : lines('Rebuilds', rebuilds)),
    ...(replays.length === 0 ? [] : lines('Replays', replays)),
  ]
}

function memberWords({ clientId, host, partitions }: Member, count: number): string {
  const has =
    partitions.length === count
      ? 'all partitions'
      : partitions.length === 0
        ? 'no partition yet'
        : partitionsNamed(partitions)
  return `${clientId} at ${host}: ${has}`
}

function partitionLines({ partitions }: StoreStatus, { paint, columns, all }: Showing): string[] {
  const shown = all || partitions.length <= ROWS_MAX ? partitions : standingOut(partitions)
  const [titles = '', ...rows] = tableLines(COLUMNS, shown, columns)
  const hidden = partitions.length - shown.length
  const rest = hidden === 0 ? [] : [`${counted(hidden, 'more partition')} (--all shows every one)`]
  return [...(shown.length === 0 ? [] : [paint('bold', titles)]), ...rows, ...rest]
}

/** Those that are behind, hold something parked, or are being rebuilt, most behind first. */
function standingOut(partitions: readonly PartitionStatus[]): PartitionStatus[] {
  return partitions
    .filter(
      (one) =>
        (lagOf(one) ?? 0) > 0 || one.filling !== undefined || one.leftovers.length > 0 || one.live.parked > 0,
    )
    .sort((a, b) => (lagOf(b) ?? 0) - (lagOf(a) ?? 0))
    .slice(0, ROWS_MAX)
    .sort((a, b) => a.partition - b.partition)
}

const number = (
  title: string,
  of: (one: PartitionStatus) => number | undefined,
  givesWay?: number,
): Column<PartitionStatus> => ({
  title,
  align: 'right',
  cell: (one) => {
    const value = of(one)
    return value === undefined ? '?' : grouped(value)
  },
  ...(givesWay !== undefined && { givesWay }),
})

const COLUMNS: Column<PartitionStatus>[] = [
  number('partition', ({ partition }) => partition),
  number('log end', ({ end }) => end, 3),
  {
    title: 'checkpoint',
    align: 'right',
    cell: (one) => (one.live.checkpoint ? grouped(checkpointOf(one)) : '-'),
    givesWay: 2,
  },
  number('lag', lagOf),
  number('plants', ({ live }) => live.plants, 1),
  number('voids', ({ live }) => live.voids, 4),
  number('parked', ({ live }) => live.parked, 2),
  { title: 'size', align: 'right', cell: ({ bytes }) => sized(bytes), givesWay: 4 },
  { title: 'generation', cell: generationWords, givesWay: 5 },
]

function generationWords({ live, filling, leftovers }: PartitionStatus): string {
  const words = [live.live === '' ? 'none' : live.live.slice(0, SHORT_NAME)]
  if (filling !== undefined) {
    words.push(
      `filling ${filling.generation.slice(0, SHORT_NAME)} (at ${grouped(filling.checkpoint?.offset ?? -1)})`,
    )
  }
  if (leftovers.length > 0) words.push(`${leftovers.length} left over`)
  return words.join(', ')
}
