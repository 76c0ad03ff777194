import { appendFile } from 'node:fs/promises'
import { consumePlants, type FirstClaims, inMemory } from '@plant-store/shared/consumer/consumer.ts'

/** What a consumer's process is told, as JSON, in its only argument. */
export type ConsumerTask = {
  brokers: string[]
  topic: string
  groupId: string
  /** Where each event is noted as a line: partition, offset, event id. */
  deliveries: string
  firstClaims: 'memory'
}

function firstClaimsOf({ firstClaims }: ConsumerTask): FirstClaims {
  if (firstClaims === 'memory') return inMemory()
  throw new RangeError(`no such first claims: ${firstClaims}`)
}

const task = JSON.parse(process.argv[2] ?? '') as ConsumerTask
const { brokers, topic, groupId } = task
const consumer = await consumePlants({
  ...{ brokers, topic, groupId },
  firstClaims: firstClaimsOf(task),
  // As often as can be, so that a commit that comes too early is seen.
  commitEveryMs: 10,
  // What was written outlives the process, if not the machine.
  onPlantCreated: ({ partition, offset, eventId }) =>
    appendFile(task.deliveries, `${partition} ${offset} ${eventId}\n`),
})
await consumer.ended
