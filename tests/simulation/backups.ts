import { addToBackup, type BackedUpLog, type BackupFiles } from '@plant-store/plantctl/src/backup/add-to-backup.ts'
import { type BackupFile, type Manifest, recordsIn } from '@plant-store/plantctl/src/backup/manifest.ts'
import { lineOf } from '@plant-store/plantctl/src/backup/record-line.ts'
import { repartitionLog } from '@plant-store/plantctl/src/backup/repartition.ts'
import { type Backup, restoreLog, type Step } from '@plant-store/plantctl/src/backup/restore-log.ts'
import type { GroupOffsets } from '@plant-store/shared/event-log/groups.ts'
import type { RawRecord } from '@plant-store/shared/event-log/raw-record.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { after, allPartitions, FIRST, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { BEFORE_LOG } from '@plant-store/shared/protocol/checkpoint.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { newPlant } from '../support/generated-plants.ts'
import { flushPromises, outcomeOf, type SimulatedProcess } from './clock.ts'
import { createKafkaLog, type Log } from './kafka.ts'
import { firstsOf } from './oracle.ts'
import type { ProcessContext } from './process-context.ts'
import { pick, type Random } from './random.ts'
import { eventIdOf } from './records.ts'
import { connectTarget, createTarget, send, type Target } from './restored-topic.ts'

const GROUP = 'a consumer'
const FETCHED = 3
const FILE_RECORDS = 4
/** Runs of one restore; the last ones have no faults. */
const RUNS = 12
const DISTURBED_RUNS = 8
const [LOST, REPEATED, FOREIGN] = [0.05, 0.05, 0.02]
const CRASHED = [0.02, 0.1]
const OPEN = { partition: 0 as Partition, from: FIRST, end: FIRST }
const OTHER_PARTITIONS = [1, 3, 5]

/** The probabilities of a killed run and of a record of another program, before each request. */
type Faults = { crash: number; foreign: number }
type Work = (process: SimulatedProcess) => Promise<unknown>

const progress = { onStart() {}, onRead() {} }
const step: Step = (_what, work) => work(progress)

/** The backups of a world's log, and what becomes of them. */
export function createBackups(
  { log, network, newProcess, crash, trace, broken }: ProcessContext,
  ids: readonly PlantId[],
) {
  const committed: GroupOffsets = new Map()
  const contents = new Map<string, readonly RawRecord[]>()
  const manifests: Manifest[] = []
  let running: SimulatedProcess | undefined

  const request = <T>(process: SimulatedProcess, what: string, part: () => T) => send(network, process, what, part)

  const connectLog = (process: SimulatedProcess, log: Log, random: Random): BackedUpLog => ({
    topic: 'the log',
    warn() {},
    readGroups: () =>
      request(process, 'read of the group offsets', () => ({
        groups: new Map([[GROUP, new Map(committed)]]),
        areAll: random.chance(0.5),
      })),
    readConfiguration: async () => new Map(),
    readTopic: () =>
      request(process, 'read of the log ends', () => ({
        ...{ topicId: undefined, ends: log.ends(), warnings: [] },
        openTransactions: random.chance(0.5) ? [OPEN] : [],
      })),
    async read(ranges, onRecords) {
      for (const [partition, { from, end }] of ranges) {
        const found = await request(process, 'read of records', () =>
          log.records(partition).map((record, n) => ({ ...record, raw: log.raw(partition)[n] as RawRecord })),
        )
        const left = found.filter(({ offset }) => offset > from.offset && offset < end)
        while (left.length > 0) await onRecords(partition, left.splice(0, FETCHED), BEFORE_LOG)
      }
    },
  })

  const inMemory: BackupFiles = {
    async *recordsOf({ name }) {
      yield contents.get(name) ?? []
    },
    writer(partition, from) {
      const files: BackupFile[] = []
      let [start, records]: [Offset, RawRecord[]] = [from, []]

      function closeFile(end: Offset, more: Partial<BackupFile>): void {
        const name = `${partition}: ${start} to ${end}`
        if (manifests.at(-1)?.partitions.some(({ files }) => files.some((file) => file.name === name)))
          broken('a backup replaces a file of the earlier one')
        contents.set(name, records)
        files.push({ name, from: start, end, records: records.length, sha256: '', ...more })
        start = end
        records = []
      }

      return {
        async add(some) {
          for (const record of some) if (records.push(record) === FILE_RECORDS) closeFile(after(record.offset), {})
        },
        async finish(end) {
          if (records.length > 0) closeFile(end, { isSmall: true })
          return files
        },
        async abandon() {},
      }
    },
  }

  async function backUp(process: SimulatedProcess, random: Random): Promise<void> {
    const ends = log.ends()
    const added = await addToBackup(connectLog(process, log, random), inMemory, manifests.at(-1), progress)
    manifests.push(added)
    for (const [partition, { end }] of added.partitions.entries()) {
      if (end < (ends[partition] as Offset)) broken('a backup lacks what was in the log when it began')
      for (const { offsets } of added.groups)
        for (const { partition: p, next } of offsets)
          if (p === partition && next > end) broken('a backed-up group is ahead of the log')
    }
    trace(() => `${process.name} has ${recordsIn(added)} records`)
  }

  const backup = (manifest: Manifest): Backup => ({
    manifest,
    async *recordsOf(partition) {
      for (const file of manifest.partitions[partition]?.files ?? []) yield* inMemory.recordsOf(file)
    },
  })

  /** Undefined if a log is what the backup has. */
  function differenceFrom({ partitions }: Manifest, restored: Log): string | undefined {
    for (const [n, { end }] of partitions.entries()) {
      const partition = n as Partition
      const before = log.raw(partition).filter(({ offset }) => offset < end)
      if (restored.end(partition) !== end) return `partition ${n} ends at ${restored.end(partition)} instead of ${end}`
      if (before.map(lineOf).join('') !== restored.raw(partition).map(lineOf).join('')) return `partition ${n} differs`
    }
    return undefined
  }

  /** Restores a backup in runs that are killed, while another program may write, too, until one is complete. */
  async function restore(manifest: Manifest, foreign: number, random: Random): Promise<void> {
    let target = createTarget(manifest.partitions.length)
    let failed = 0
    for (let runs = 1; runs <= RUNS && !target.wasReleased; runs++) {
      // Two runs failed: the operator deletes the topic.
      if (failed === 2) {
        network.arrive()
        target = createTarget(manifest.partitions.length)
        failed = 0
      }
      const faults = runs <= DISTURBED_RUNS ? { crash: pick(CRASHED, random), foreign } : undefined
      const error = await run('restore', random, faults, workOn(target, manifest), target)
      // Deliver the requests of the killed run: later they would count as the records of another writer.
      if (foreign === 0) network.arrive()
      if (error !== undefined) failed++
      if (error !== undefined && foreign === 0) broken(`a restore does not continue: ${error.message}`)
    }
    if (!target.wasReleased) broken('a restore does not come to its end')
  }

  function workOn(target: Target, manifest: Manifest): Work {
    const onRelease = () => {
      const difference = differenceFrom(manifest, target.log)
      if (difference !== undefined) broken(`a restored topic is released that is not the backup: ${difference}`)
      for (const { groupId, offsets } of manifest.groups)
        for (const { partition, next } of offsets)
          if (target.groups.get(groupId)?.get(partition)?.next !== next) broken('a group is not restored')
    }
    const options = { step, withGroups: true, signal: new AbortController().signal }
    return (process) => restoreLog(connectTarget(network, process, target, onRelease), backup(manifest), options)
  }

  /** Lets requests of a program arrive until it has ended, or was killed. Resolves with its error. */
  async function run(
    name: string,
    random: Random,
    faults: Faults | undefined,
    work: Work,
    target?: Target,
  ): Promise<Error | undefined> {
    const process = newProcess(name)
    trace(() => `${process.name} starts`)
    const outcome = outcomeOf(work(process))
    while (true) {
      await flushPromises()
      const ended = outcome()
      if (ended !== undefined) {
        const error: Error | undefined = ended.status === 'rejected' ? ended.reason : undefined
        trace(() => `${process.name} has ended: ${error?.message ?? 'complete'}`)
        process.alive = false
        if (error !== undefined && !(error instanceof PreconditionError)) broken(`a ${name} throws ${error.message}`)
        return error
      }
      if (faults !== undefined && random.chance(faults.crash)) {
        crash(process, random)
        return undefined
      }
      network.proceed(random)
      if (faults === undefined) continue
      if (random.chance(LOST)) network.lose(random)
      if (random.chance(REPEATED)) network.repeat(random)
      if (random.chance(faults.foreign) && target?.isWritten && !target.isCompared) writeForeign(target.log, random)
    }
  }

  const otherEvent = (n: number, partitions: number, random: Random) =>
    plantCreated(newPlant(pick(ids, random), { name: 'other' }), eventIdOf('another log', n), partitions)

  function writeForeign(restored: Log, random: Random): void {
    const event = otherEvent(1, restored.ends().length, random)
    const { partition } = event
    trace(() => `another program writes to the topic at ${partition}-${restored.end(partition)}`)
    if (random.chance(0.3)) restored.skip(partition)
    else restored.append(event)
  }

  /** Every id must keep its first claim in any number of partitions. */
  async function repartition(manifest: Manifest, random: Random): Promise<void> {
    const partitions = pick(OTHER_PARTITIONS, random)
    const options = { partitions, step, signal: new AbortController().signal }
    let target = createTarget(partitions)
    const move = (faults?: Faults) => {
      const work: Work = (process) => repartitionLog(connectTarget(network, process, target), backup(manifest), options)
      return run('move', random, faults, work, target)
    }
    await move({ crash: pick(CRASHED, random), foreign: FOREIGN })
    if (!target.wasReleased) {
      network.arrive()
      const hasRecords = target.log.ends().some((end) => end > 0)
      if (hasRecords && (await move()) === undefined) broken('an interrupted move continues')
      target = createTarget(partitions)
      const error = await move()
      if (error !== undefined && partitions > 1) broken(`no move to ${partitions} partitions: ${error.message}`)
    }
    if (target.wasReleased && winnersOf(target.log) !== winnersOf(log, manifest))
      broken('another number of partitions changes first claims')
  }

  /** Another log, or this one without its end, must not be added to the backup. */
  async function refuseAnotherLog(manifest: Manifest, random: Random): Promise<void> {
    if (manifest.partitions.every(({ last }) => last === undefined)) return
    const partitions = manifest.partitions.length + pick([0, 0, 1], random)
    const other = createKafkaLog(partitions)
    const longer = pick([-1, 1], random)
    let n = 100
    for (const [partition, { end }] of manifest.partitions.entries())
      while (other.end(partition as Partition) < end + longer)
        other.append({ ...otherEvent(n++, partitions, random), partition: partition as Partition })
    const work: Work = (process) => addToBackup(connectLog(process, other, random), inMemory, manifest, progress)
    const error = await run('backup', random, undefined, work)
    if (!(error instanceof PreconditionError)) broken('a backup continues that of another log')
  }

  return {
    /** A consumer of the log commits its offset. */
    commit(random: Random): void {
      const partition = random.below(log.ends().length) as Partition
      const before = committed.get(partition)?.next ?? 0
      committed.set(partition, {
        next: (before + random.below(log.end(partition) - before + 1)) as Offset,
        metadata: '',
      })
    },

    /** Starts a backup, or kills the one that runs. */
    start(random: Random): void {
      if (running?.alive) {
        crash(running, random)
        return
      }
      const process = newProcess('backup')
      running = process
      trace(() => `${process.name} starts`)
      void backUp(process, random).then(
        () => {
          process.alive = false
        },
        (error: Error) => broken(`a backup of its own log fails: ${error.message}`),
      )
    },

    /** After the last fault: the log is backed up, restored, moved, and distinguished from another one. */
    async settle(random: Random): Promise<void> {
      while (running?.alive) await flushPromises()
      const process = newProcess('backup')
      await backUp(process, random)
      process.alive = false
      network.set(0, random)
      for (const foreign of [FOREIGN, 0]) await restore(pick(manifests, random), foreign, random)
      await repartition(pick(manifests, random), random)
      await refuseAnotherLog(manifests.at(-1) as Manifest, random)
      network.calmDown()
    },
  }
}

/** The first claims of a log, or of the part of it that a backup has. */
function winnersOf(log: Log, manifest?: Manifest): string {
  const isWithin = (partition: Partition, offset: Offset) => offset < (manifest?.partitions[partition]?.end ?? Infinity)
  const winners = allPartitions(log.ends().length).flatMap((partition) =>
    firstsOf(log, partition)
      .filter(({ offset }) => isWithin(partition, offset))
      .map(({ id, eventId }) => `${id} ${eventId}`),
  )
  return winners.sort().join()
}
