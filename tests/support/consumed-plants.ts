import { randomUUID } from 'node:crypto'
import { type ConsumeOptions, consumePlants, type PlantCreated } from '@plant-store/shared/consumer/consumer.ts'
import { inject, onTestFinished } from 'vitest'
import { quietLog } from './quiet-log.ts'

export const newGroup = () => `consumer-${randomUUID()}`

/** Consumes a topic into memory until the test ends. */
export async function consumeInto(topic: string, options: Partial<ConsumeOptions> = {}, events: PlantCreated[] = []) {
  const consumer = await consumePlants({
    ...{ brokers: inject('kafkaBrokers').split(','), topic, log: quietLog },
    groupId: newGroup(),
    ...(options.onPlantsCreated === undefined && { onPlantCreated: (event) => void events.push(event) }),
    ...options,
  })
  onTestFinished(() => consumer.stop())
  return { ...consumer, events }
}
