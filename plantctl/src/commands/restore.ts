import { readLatestRows } from '@plant-store/shared/event-log/latest-rows.ts'
import { TOPIC_NAME } from '@plant-store/shared/event-log/log-identity.ts'
import { readConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { allPartitions, type Offset, type Partition } from '@plant-store/shared/plant/position.ts'
import { PreconditionError } from '@plant-store/shared/runtime/failures.ts'
import { formatCount } from '@plant-store/shared/runtime/format.ts'
import { checkBackup, recordsOfPartition } from '../backup/check-backup.ts'
import { withFolder } from '../backup/folder-error.ts'
import { type Manifest, recordsIn } from '../backup/manifest.ts'
import { checkRepartition, repartitionLog } from '../backup/repartition.ts'
import { restoreLog, type Step } from '../backup/restore-log.ts'
import { endsOfBegun, restoredTopic } from '../backup/restored-topic.ts'
import type { CliContext } from '../cli-context.ts'
import { type Command, EXIT, UsageError } from '../command.ts'
import { FLAG, numberOf, readOptions, TEXT } from '../options.ts'
import {
  assertTableIsNamed,
  retryForSeconds,
  type Store,
  withRefusalsOf,
  withUncheckedStore,
} from '../store/open-store.ts'
import { readCheckpoints } from '../store/read-log.ts'
import { withProgress } from '../terminal/progress.ts'

const PARTITIONS_MAX = 1_000
const help = `Restores a backup into a topic that does not exist, with the same offsets, so that the read model, the table, consistency
tokens, list cursors and consumer groups stay valid. First stop the services and consumers, and delete the damaged topic.

  plantctl restore --from /backups/plants
  plantctl restore --from /backups/plants --topic plants-drill --groups none
  plantctl restore --from /backups/plants --topic plants-24 --partitions 24

  --from        the folder of the backup; it is checked first
  --topic       the topic; without it, PLANTS_TOPIC
  --partitions  as many partitions as this, in another topic that --topic names: everything is moved, see below
  --groups      whose offsets are restored: all (unless given) or none
  --dry-run     checks everything, and changes nothing
  --json        one JSON object: "topic", number of "records", "plants" and "groups", "seconds"

While it runs, the services refuse the topic. It writes everything, reads it back, compares each byte, and then lets them
in. If it is interrupted, run it again: it continues; with --partitions, delete the new topic before. A backup that is
older than the read model or the table is refused: what has seen the lost plants must not continue. With --partitions
nothing does.

With --partitions each plant stays what it is, but has another position: start the services with PLANTS_TOPIC and
PLANTS_PARTITIONS. They fill an empty read model. Consistency tokens and list cursors end, consumers start with another
group and empty first claims, and a table has to be another topic. Then delete the former topic and its keys in Redis.
`

export const restore: Command = {
  summary: 'restores a backup into a topic, with the same offsets',
  help,
  async run(args, context) {
    const options = { from: TEXT, topic: TEXT, partitions: TEXT, groups: TEXT, 'dry-run': FLAG, json: FLAG } as const
    const { values } = readOptions(args, options)
    const { from, topic: named, partitions: count, json, 'dry-run': isDryRun } = values
    const partitions = numberOf('--partitions', count, PARTITIONS_MAX, 'a number of partitions')
    if (partitions !== undefined && named === undefined)
      throw new UsageError('--partitions needs --topic, another topic')
    const { groups = partitions === undefined ? 'all' : 'none' } = values
    if (!from) throw new UsageError('expected --from FOLDER')
    if (partitions !== undefined && groups === 'all')
      throw new UsageError('--groups all cannot be combined with --partitions: no offset stays valid')
    if (groups !== 'all' && groups !== 'none') throw new UsageError(`--groups ${groups}: expected all or none`)
    if (named !== undefined && !TOPIC_NAME.test(named)) throw new UsageError(`--topic ${named}: expected a topic name`)
    const startedAt = performance.now()
    const step: Step = (what, work) => withFolder(from, () => withProgress(context, what, work))
    const { manifest, summary } = await step('checking the backup', (progress) => checkBackup(from, progress))
    const { signal } = context
    if (partitions === manifest.partitions.length)
      throw new UsageError(`--partitions ${partitions}: the backup has as many, restore it without this option`)
    // Readers of the former topic would continue at positions that have moved.
    if (partitions !== undefined && named === manifest.topic)
      throw new UsageError(
        `--topic ${named}: the backup is of this topic, name another one for another number of partitions`,
      )
    const target = { topic: named, partitions: partitions ?? manifest.partitions.length }
    const topic = await withTarget(context, target, async (store) => {
      if (partitions === undefined) {
        await assertTableIsNamed(store, context.env)
        await assertNotAhead(store, manifest, signal)
      }
      const restored = restoredTopic(store, manifest, signal)
      const backup = { manifest, recordsOf: (partition: Partition) => recordsOfPartition(from, manifest, partition) }
      if (isDryRun) {
        const { ends = [] } = (await endsOfBegun(store)) ?? {}
        if (partitions !== undefined)
          await checkRepartition({ name: store.topic, ends }, backup, { partitions, step, signal })
      } else if (partitions !== undefined) await repartitionLog(restored, backup, { partitions, step, signal })
      else await restoreLog(restored, backup, { step, withGroups: groups === 'all', signal })
      return store.topic
    }).catch((error: unknown) => {
      if (signal.aborted && !isDryRun)
        context.printError('Interrupted. The services refuse the topic until the restore has ended.\n')
      throw error
    })
    const { plants } = summary
    const records = recordsIn(manifest)
    const counts = { topic, records, plants, groups: groups === 'all' ? manifest.groups.length : 0 }
    const seconds = Math.round(performance.now() - startedAt) / 1_000
    const verb = isDryRun ? 'Would restore' : 'Restored'
    await context.printResult(
      json
        ? `${JSON.stringify({ ...counts, seconds })}\n`
        : `${verb} ${formatCount(records, 'record')}, ${formatCount(plants, 'plant')}, offsets of ` +
            `${formatCount(counts.groups, 'consumer group')} into ${topic}, as of ${manifest.takenAt}\n`,
    )
    return EXIT.ok
  },
}

/** Works on the store, with the number of partitions, and with another topic if one is named. */
function withTarget<T>(
  context: CliContext,
  { topic, partitions }: { topic: string | undefined; partitions: number },
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const named = topic === undefined ? {} : { PLANTS_TOPIC: topic }
  const env = { ...context.env, ...named, PLANTS_PARTITIONS: String(partitions) }
  const target = Object.create(context, { env: { value: env } })
  return withUncheckedStore(target, (store) => withRefusalsOf(store.topic, () => work(store)))
}

/** Throws a PreconditionError when the read model or the table has plants that came after the backup. */
async function assertNotAhead(store: Store, { partitions, takenAt }: Manifest, signal: AbortSignal): Promise<void> {
  const { kafka, table } = store
  const assertWithin = (what: string, partition: Partition, offset: Offset, otherwise = '') => {
    const { end } = partitions[partition] as Manifest['partitions'][number]
    if (offset < end) return
    throw new PreconditionError(
      `${what} has offset ${offset} of partition ${partition}, but the backup of ${takenAt} ends before offset ${end}: it ` +
        'lacks plants that clients have a 200 for. Restore a newer backup; to give them up, add --topic and --partitions' +
        otherwise,
    )
  }
  for (const [partition, { offset }] of await readCheckpoints(store)) assertWithin('the read model', partition, offset)
  if (table === undefined) return
  if ((await retryForSeconds(() => readConfiguration(kafka, table), table)) === undefined) return
  const latest = await readLatestRows({ ...store, table, signal }, allPartitions(store.partitions))
  const otherwise = `; if the table is not that of ${store.topic}, set PLANTS_TABLE=off`
  for (const [partition, { offset }] of latest) assertWithin(`the table ${table}`, partition, offset, otherwise)
}
