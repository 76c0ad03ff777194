import { bug, type InjectedBug, rare } from './injected-bug.ts'

const ADD = 'plantctl/src/backup/add-to-backup.ts'
const RESTORE = 'plantctl/src/backup/restore-log.ts'
const REPARTITION = 'plantctl/src/backup/repartition.ts'

/** For the rules of docs/decisions/backup.md. */
export const BACKUP_BUGS: readonly InjectedBug[] = [
  rare(1258, 'the offsets of groups are read after the ends', ADD, [
    '[-  const { groups, areAll } = await log.readGroups()\n-]',
    'await log.readTopic(){+\n  const { groups, areAll } = await log.readGroups()+}\n',
  ]),
  bug('a backup continues that of another log', ADD, ['if ([-sought === undefined-]{+true+}) continue']),
  rare(61, 'full files are written anew', ADD, ['[-!file.isSmall || -]']),
  bug('small files are written anew without their records', ADD, ['[-await writer.add(records)-]{+{}+}\n']),
  bug('a backup has the last claim twice', ADD, ['offset >= part.before{+ - 1+}']),
  bug('a restore compares only the ends', RESTORE, ['[-|| lineOf(value) !== lineOf(record)-]) throw']),
  bug('a restore compares only the records', RESTORE, ['if (end [-!== ends[partition]-]{+=== -1+}) throw']),
  bug('the latch is lifted before the comparison', RESTORE, [
    '[-  await topic.release()\n-]',
    "  {+for (const group of manifest.groups) await topic.commitOffsets(group)\n  await topic.release()\n  +}await step('comparing with",
  ]),
  bug('the latch is lifted before the groups are restored', RESTORE, [
    '{+await topic.release()\n  +}for (const group of withGroups ? manifest.groups : []) await topic.commitOffsets(group)[-\n  await topic.release()-]',
  ]),
  bug('a restore does not continue where the earlier run ended', RESTORE, ['[-if (record.offset < from) continue\n-]']),
  bug('the gap at the end of a partition is not restored', RESTORE, ['[-await skipTo(end)-]']),
  bug('a gap is restored before the records that precede it', RESTORE, [
    '    await [-flush()\n    await -]writer.skip',
  ]),
  rare(195, 'a claim in the wrong partition moves by its key', REPARTITION, [
    'return [-((own + 1) % count) as Partition-]{+own+}',
  ]),
  bug('records of several partitions are moved in reverse order', REPARTITION, [
    'target.pending.[-push-]{+unshift+}(moved)',
  ]),
]
