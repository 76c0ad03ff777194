import { randomInt } from 'node:crypto'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { consumeInto, newGroup } from '../../../tests/support/consumed-plants.ts'
import { eventually } from '../../../tests/support/eventually.ts'
import { newEvent } from '../../../tests/support/new-events.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { readTruth } from '../../../tests/support/truth.ts'
import type { NewRecord } from '../plant/plant-created.ts'

const PARTITIONS = 4
const BATCH = 50
/** Each check of the topic opens a connection. It must take longer than joining the group. */
const SLOW_TO_CONNECT_MS = 250

/** Claims of new ids, with void and repeated claims among them. */
function mixedClaims(firstId: number): NewRecord[] {
  const ids = Array.from({ length: BATCH }, (_, n) => (n % 4 === 3 ? randomInt(firstId + n) : firstId + n))
  const claims = ids.map((id) => newEvent(BigInt(id), PARTITIONS))
  return [...claims, ...claims.filter((_, n) => n % 4 === 0)]
}

it.each([
  ['commit all the while', 50],
  ['commit only when they come and go', 60_000],
])(
  'the members of a group share the partitions and %s: no plant is missed, given with a void claim, or given again',
  async (_, commitEveryMs) => {
    const topic = await openTopic(PARTITIONS)
    const groupId = newGroup()
    const delivered: string[] = []
    const working = new Map<string, number>()
    let overlaps = 0
    let writes = true
    const written = (async () => {
      for (let firstId = 0; writes; firstId += BATCH) await topic.appendRecords(mixedClaims(firstId))
    })()
    onTestFinished(() => {
      writes = false
    })
    async function join(name: string, connectingMs = 0) {
      const counts = { events: 0 }
      const consumer = await consumeInto(topic.topic, {
        ...{ groupId, commitEveryMs },
        socketFactory: ({ host, port, onConnect }) =>
          connect(port, host, () => void setTimeout(onConnect, connectingMs)),
        async onPlantCreated({ partition, offset, eventId }) {
          const place = `${name} ${partition}`
          if (working.has(place)) overlaps++
          working.set(place, offset)
          await nextTurn()
          working.delete(place)
          counts.events++
          delivered.push(`${partition} ${offset} ${eventId}`)
        },
      })
      const partitions = () => consumer.positions().size
      const busy = async () => {
        const before = counts.events
        await eventually(() => expect(counts.events).toBeGreaterThan(before + BATCH))
      }
      return { ...consumer, partitions, busy }
    }

    const first = await join('first')
    await first.busy()
    const second = await join('second', SLOW_TO_CONNECT_MS)
    await eventually(() => expect([first.partitions(), second.partitions()]).toEqual([2, 2]))
    await Promise.all([first.busy(), second.busy()])
    await first.stop()
    await eventually(() => expect(second.partitions()).toBe(PARTITIONS))
    const third = await join('third')
    await eventually(() => expect([second.partitions(), third.partitions()]).toEqual([2, 2]))
    await Promise.all([second.busy(), third.busy()])
    writes = false
    await written

    const { states } = await readTruth(topic)
    const creations = states.flatMap(({ plants }, partition) =>
      [...plants.values()].map(({ offset, eventId }) => `${partition} ${offset} ${eventId}`),
    )
    await eventually(() => expect([second.lag(), third.lag()]).toEqual([0, 0]))
    expect([...new Set(delivered)].sort()).toEqual(creations.sort())
    expect(overlaps).toBe(0)
    // A member that leaves in order has committed, so no member gets its events again.
    expect(delivered).toHaveLength(creations.length)
  },
)

it('a member that is assigned partitions of another topic says that the group is used for two', async () => {
  const groupId = newGroup()
  const [log, other] = [await openTopic(PARTITIONS), await openTopic(PARTITIONS)]
  const first = await consumeInto(log.topic, { groupId })
  await eventually(() => expect(first.positions().size).toBe(PARTITIONS))
  const second = await consumeInto(other.topic, { groupId })
  const problem = `kafka: the consumer group also reads topic ${log.topic}: name another group, or end the program`
  await eventually(() => expect(second.problems()).toEqual([problem]))
  await first.stop()
  await eventually(() => expect([second.positions().size, second.problems()]).toEqual([PARTITIONS, []]))
})
