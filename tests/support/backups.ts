import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { withAdmin } from '@plant-store/shared/event-log/connection.ts'
import { readConfiguration } from '@plant-store/shared/event-log/topic-configuration.ts'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'
import type { TestTopic } from './topic.ts'

/** Deletes a topic. Resolves when the broker has forgotten it. */
export async function deleteTopic({ kafka, topic }: Pick<TestTopic, 'kafka' | 'topic'>): Promise<void> {
  await withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [topic] }))
  await eventually(async () => expect(await readConfiguration(kafka, topic)).toBeUndefined())
}

/** All lines of a backup by partition, its ends, groups and settings. */
export function contentOf(folder: string) {
  const { partitions, groups, configuration, largestRecordBytes } = JSON.parse(
    readFileSync(join(folder, 'manifest.json'), 'utf8'),
  )
  const lines: string[] = partitions.map(({ files }: { files: { name: string }[] }) =>
    files.map(({ name }) => gunzipSync(readFileSync(join(folder, name))).toString()).join(''),
  )
  return { lines, ends: partitions.map(({ end }: { end: number }) => end), groups, configuration, largestRecordBytes }
}
