import { allPartitions, type Offset } from '@plant-store/shared/plant/position.ts'
import { recordsIn } from './manifest.ts'
import { assertEmpty, targetOf } from './repartition.ts'
import type { Backup, Step } from './restore-log.ts'

/** Throws the PreconditionErrors for records of an earlier run, and for a record without a place, and writes nothing. */
export async function checkRepartition(
  { topic, ends }: { topic: string; ends: readonly Offset[] },
  { manifest, recordsOf }: Backup,
  { partitions, step, signal }: { partitions: number; step: Step; signal: AbortSignal },
): Promise<void> {
  assertEmpty(topic, ends)
  const before = manifest.partitions.length
  await step('checking where the records go', async ({ onStart, onRead }) => {
    onStart(recordsIn(manifest))
    for (const partition of allPartitions(before)) {
      for await (const records of recordsOf(partition)) {
        signal.throwIfAborted()
        for (const record of records) targetOf(record, partition, before, partitions)
        onRead(records.length)
      }
    }
  })
}
