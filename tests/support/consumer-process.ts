import { appendFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { consumePlants, inFile, inMemory } from '@plant-store/shared/consumer/consumer.ts'

/** The only argument of a consumer's process, as JSON. */
export type ConsumerTask = {
  brokers: string[]
  topic: string
  groupId: string
  /** The file that gets a line for each event: partition, offset, event id. */
  deliveries: string
  firstClaims: 'memory' | 'file'
  /** The file of the first claims, if they are in a file. */
  claimFile: string
  /** The time that each event takes. */
  workMs: number
}

const task = JSON.parse(process.argv[2] ?? '') as ConsumerTask
const { brokers, topic, groupId, workMs } = task
const consumer = await consumePlants({
  // Faults may keep Kafka away for longer than the 15 s after which a start fails.
  ...{ brokers, topic, groupId, connectWithinMs: 180_000 },
  firstClaims: task.firstClaims === 'file' ? inFile(task.claimFile) : inMemory(),
  // Often, and while handlers are at work: so that a commit that comes too early is seen.
  commitEveryMs: 10,
  async onPlantCreated({ partition, offset, eventId }) {
    await delay(workMs)
    // A written line outlives the process, if not the machine.
    await appendFile(task.deliveries, `${partition} ${offset} ${eventId}\n`)
  },
})
await consumer.ended
