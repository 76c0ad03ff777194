import { after, BEFORE_FIRST, type Offset } from '@plant-store/shared/plant/position.ts'
import { outOfBounds } from '@plant-store/shared/protocol/checkpoint.ts'
import { assertFoldVersion, assertPartitionCount } from '@plant-store/shared/read-model/state.ts'
import { partitionsNamed } from '../../terminal/partitions-named.ts'
import { counted, grouped } from '../../terminal/quantity.ts'
import type { PartitionStatus, StoreStatus } from './read-status.ts'

/** What is wrong, and what is worth knowing though nothing is wrong; each in words, with what to do. */
export type Judgement = { problems: string[]; notices: string[] }

/** The same as the alert in docs/how-to/operate.md. */
const LAG_MAX_RECORDS = 10_000

const NEVER_EXPIRES = -1

/** How many records of the log its read model has not passed; undefined while the log's end is not known. */
export function lagOf({ end, live }: PartitionStatus): number | undefined {
  return end === undefined ? undefined : Math.max(0, end - after(checkpointOf({ live })))
}

export function checkpointOf({ live }: Pick<PartitionStatus, 'live'>): Offset {
  return live.checkpoint?.offset ?? BEFORE_FIRST
}

export function totalOf(
  partitions: readonly PartitionStatus[],
  of: (one: PartitionStatus) => number | undefined,
) {
  return partitions.reduce((sum, one) => sum + (of(one) ?? 0), 0)
}

export function judge(status: StoreStatus): Judgement {
  const { partitions, broken } = status
  return {
    problems: [
      ...broken,
      ...foreignFolds(status),
      ...otherLogs(partitions),
      ...projection(status),
      ...damages(partitions),
    ],
    notices: notices(status),
  }
}

function foreignFolds({ partitions }: StoreStatus): string[] {
  const refusals = partitions.flatMap(({ live, filling }) =>
    [live, filling].flatMap((state) =>
      state?.checkpoint === undefined
        ? []
        : [
            refusal(() => assertFoldVersion(state.fold)),
            refusal(() => assertPartitionCount(state.partitions, partitions.length)),
          ],
    ),
  )
  return [...new Set(refusals.filter((text) => text !== undefined))]
}

function refusal(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function otherLogs(partitions: readonly PartitionStatus[]): string[] {
  const wrong = partitions.flatMap((one) => {
    const reason = one.end === undefined ? undefined : outOfBounds(one.live.checkpoint ?? NONE, one.end)
    return reason === undefined ? [] : [{ ...one, reason }]
  })
  if (wrong[0] === undefined) return []
  const where = partitionsNamed(wrong.map(({ partition }) => partition))
  return [
    `${where}: ${wrong[0].reason}: the topic was made anew or lost its end. Restore it, or, if this log is the right ` +
      'one, delete the keys of this topic in Redis to have them folded again',
  ]
}

const NONE = { offset: BEFORE_FIRST, eventId: '' } as const

function projection({ partitions, readers }: StoreStatus): string[] {
  const { projectors, projectorState } = readers
  const problems: string[] = []
  const given = new Set(projectors.flatMap(({ partitions }) => partitions))
  const left = partitions.filter(({ partition }) => !given.has(partition)).map(({ partition }) => partition)
  if (projectors.length === 0) {
    problems.push(
      'no projector runs: what is written does not come into the read model. Start one: npm run start:projector, or docker ' +
        'compose up -d projector',
    )
  } else if (projectorState === 'Stable' && left.length > 0) {
    problems.push(
      `no projector has ${partitionsNamed(left)}: see whether all of them have the same PLANTS_TOPIC and release`,
    )
  }
  const lag = totalOf(partitions, lagOf)
  if (lag > LAG_MAX_RECORDS) {
    problems.push(
      `the read model is ${counted(lag, 'record')} behind the log: the projectors catch up (plantctl status --watch shows ` +
        'it), or are too slow, or Redis does not take their batches: see their logs',
    )
  }
  return problems
}

/** What no fold leaves behind. */
function damages(partitions: readonly PartitionStatus[]): string[] {
  const where = (isWrong: (one: PartitionStatus) => boolean) =>
    partitions.filter(isWrong).map(({ partition }) => partition)
  const lost = where(({ live }) => live.live !== '' && live.checkpoint === undefined)
  const unlike = where(
    ({ live }) =>
      live.checkpoint !== undefined &&
      (live.sizes.plants !== live.plants ||
        live.sizes.order !== live.plants ||
        live.sizes.parked !== live.parked),
  )
  const expiring = where(({ live }) => Object.values(live.ttlMs).some((ms) => ms > NEVER_EXPIRES))
  const problems: string[] = []
  if (lost.length > 0) {
    problems.push(
      `the read model of ${partitionsNamed(lost)} is gone, only its name is left: a projector fills it from the log again`,
    )
  }
  if (unlike.length > 0) {
    problems.push(
      `${partitionsNamed(unlike)}: the read model holds another number of plants, or of parked records, than it has counted: ` +
        'somebody changed it. plantctl verify tells what is wrong, plantctl rebuild mends it',
    )
  }
  if (expiring.length > 0) {
    problems.push(
      `${partitionsNamed(expiring)}: keys of the read model expire: somebody set that. plantctl rebuild makes new ones`,
    )
  }
  return problems
}

function notices({ partitions, readers, warnings, strangeKeys, topic }: StoreStatus): string[] {
  const notices: string[] = []
  const filled = partitions.filter(({ filling }) => filling !== undefined).map(({ partition }) => partition)
  const leftovers = partitions
    .filter(({ leftovers }) => leftovers.length > 0)
    .map(({ partition }) => partition)
  const parked = totalOf(partitions, ({ live }) => live.parked)
  if (['PreparingRebalance', 'CompletingRebalance'].includes(readers.projectorState)) {
    notices.push('the projectors are sharing out the partitions at the moment')
  }
  if (readers.apis.length === 0) notices.push('no api runs')
  if (filled.length > 0) {
    notices.push(
      readers.rebuilds.length > 0
        ? `a rebuild is under way: it fills ${partitionsNamed(filled)}`
        : `a rebuild was broken off while it filled ${partitionsNamed(filled)}: plantctl rebuild goes on with it`,
    )
  }
  if (leftovers.length > 0) {
    notices.push(`generations are left over of ${partitionsNamed(leftovers)}: plantctl rebuild drops them`)
  }
  if (parked > 0) notices.push(`${counted(parked, 'record')} parked: plantctl parked list tells why`)
  if (strangeKeys.length > 0) {
    notices.push(
      `${grouped(strangeKeys.length)} keys under {${topic}:…} in Redis belong to no generation, such as ${shown(strangeKeys[0])}`,
    )
  }
  return [...notices, ...warnings]
}

/** Anybody may have made that key. */
const shown = (key = '') => JSON.stringify(key.slice(0, 80))
