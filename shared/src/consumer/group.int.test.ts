import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { consumeInto, eventually, newGroup } from '../../../tests/support/consumed-plants.ts'
import { createMixedClaims } from '../../../tests/support/mixed-claims.ts'
import { openTopic } from '../../../tests/support/open-topic.ts'
import { readTruth } from '../../../tests/support/truth.ts'

const PARTITIONS = 4
const BATCH = 50

describe('the members of a group', () => {
  it('share the partitions; whoever comes and goes, no plant is missed, given with a void claim, or given twice at once', async () => {
    const topic = await openTopic(PARTITIONS)
    const claims = createMixedClaims(PARTITIONS)
    const groupId = newGroup()
    const delivered: string[] = []
    const working = new Map<string, number>()
    let overlaps = 0
    let writes = true
    const written = (async () => {
      while (writes) await topic.appendRecords(claims.take(BATCH))
    })()
    onTestFinished(() => {
      writes = false
    })
    async function join(name: string) {
      const counts = { events: 0 }
      const consumer = await consumeInto(topic.topic, {
        groupId,
        commitEveryMs: 50,
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
    const second = await join('second')
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
    // Who leaves in order has committed, so that nobody is given it again.
    expect(delivered).toHaveLength(creations.length)
  })
})
