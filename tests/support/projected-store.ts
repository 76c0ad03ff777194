import { randomUUID } from 'node:crypto'
import { createProjector } from '@plant-store/projector/src/projector.ts'
import { createFollower } from '@plant-store/shared/event-log/follow.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { expect, onTestFinished } from 'vitest'
import { eventually } from './eventually.ts'
import { followOptions } from './followed-log.ts'
import { openTopic } from './open-topic.ts'
import { openReadModel } from './opened-read-model.ts'

/** A separate log, its read model and projectors in this process, until the test ends. */
export async function openProjectedStore(partitions: number) {
  const topic = await openTopic(partitions)
  const { readModel, redis } = await openReadModel(topic)
  const { log, time, ...options } = followOptions(topic)
  const metas = () => Promise.all(allPartitions(partitions).map((partition) => readModel.meta(partition)))
  const ends = async () => (await checkTopic(topic.kafka, topic)).ends

  return {
    ...{ topic, redis, readModel, append: topic.appendRecords, metas, ends },

    startProjector() {
      const halts: Error[] = []
      const groupId = () => `${topic.topic}-projector`
      const projector = createProjector({
        ...{ readModel, log, time, freshGeneration: randomUUID },
        follow: (sink) =>
          createFollower({ ...options, log, time, ...sink, groupId, fetchLimits: { maxWaitTimeInMs: 20 } }),
        onHalt: (error) => halts.push(error),
      })
      onTestFinished(() => projector.close())
      projector.start()
      return { projector, halts }
    },

    /** Waits until the read model has all of the log. */
    async untilProjected(): Promise<void> {
      // A broker that is back does not lead its partitions at once.
      const expected = await eventually(ends)
      await eventually(async () => {
        expect((await metas()).map(({ checkpoint }) => checkpoint.offset + 1)).toEqual(expected)
      })
    },
  }
}
