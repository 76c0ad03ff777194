import { isDeepStrictEqual } from 'node:util'
import type { PlantCreated } from '@plant-store/shared/consumer/plant-record.ts'
import type { GroupOffset } from '@plant-store/shared/event-log/groups.ts'
import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { type Claim, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import type { Offset, Partition } from '@plant-store/shared/plant/position.ts'
import { newPlant } from '../../support/generated-plants.ts'
import { createBrokers } from '../brokers.ts'
import { createClock } from '../clock.ts'
import { ALL, createKafkaLog, PARTITIONS } from '../kafka.ts'
import { createNetwork } from '../network.ts'
import type { Random } from '../random.ts'
import { eventIdOf, foreignRecord } from '../records.ts'

export type World = ReturnType<typeof createWorld>

/** A log, a group that consumes it, and the guarantees of consumers. */
export function createWorld(random: Random) {
  const log = createKafkaLog(PARTITIONS)
  const firsts = new Map<PlantId, Claim>()
  /** The creations that were not delivered yet. */
  const owed = ALL.map(() => new Set<Offset>())
  const committed = new Map<Partition, GroupOffset>()
  let events = 0
  let generation = 0
  let brokenGuarantee: string | undefined

  const broken = (guarantee: string) => {
    brokenGuarantee ??= guarantee
  }
  const owedIn = (partition: Partition) => owed[partition] as Set<Offset>

  return {
    ...{ log, committed, broken },
    clock: createClock(),
    network: createNetwork(() => {}),
    brokers: createBrokers(log, random, { refusesAppends: false, hasLag: true }),
    /** From now on without faults. */
    isCalm: false,
    firstBroken: () => brokenGuarantee,
    generation: () => generation,
    newGeneration: () => ++generation,
    isOwed: () => owed.some(({ size }) => size > 0),

    append(): void {
      if (random.chance(0.1)) {
        log.skip(random.pick(ALL) as Partition)
        return
      }
      const id = BigInt(random.below(++events)) as PlantId
      const eventId = eventIdOf('client', random.chance(0.1) ? random.below(events) : events)
      const record = random.chance(0.2)
        ? foreignRecord({ id, eventId, partitions: PARTITIONS }, random).record
        : plantCreated(newPlant(id, { name: 'plant' }), eventId, PARTITIONS)
      const offset = log.append(record)
      const claim = log.records(record.partition).at(-1)?.claim
      if (claim === undefined || firsts.has(claim.id)) return
      firsts.set(claim.id, claim)
      if (claim.plant !== undefined) owedIn(record.partition).add(offset)
    },

    handled(event: PlantCreated): void {
      const { id, time, partition, offset } = event
      const first = firsts.get(id)
      if (first?.offset !== offset) broken(`a void claim was delivered: offset ${offset} of ${partition}`)
      else if (!isDeepStrictEqual(event, { ...first.plant, id, eventId: first.eventId, time, partition, offset }))
        broken(`offset ${offset} of ${partition} was delivered with another content`)
      owedIn(partition).delete(offset)
    },

    commit(partition: Partition, stored: GroupOffset): void {
      const missed = [...owedIn(partition)].find((offset) => offset < stored.next)
      if (missed !== undefined) broken(`committed behind ${missed} of ${partition}, which was not delivered`)
      committed.set(partition, stored)
    },

    /** An operator moves the group; creations before the new offset need not be delivered. */
    moveGroup(): void {
      for (const partition of ALL) {
        const next = random.below(log.end(partition) + 1) as Offset
        committed.set(partition, { next, metadata: '' })
        for (const offset of owedIn(partition)) if (offset < next) owedIn(partition).delete(offset)
      }
    },
  }
}
