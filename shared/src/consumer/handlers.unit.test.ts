import { expect, it } from 'vitest'
import type { Offset, Partition } from '../plant/position.ts'
import { createHandlerCaller, type DeadLetter } from './handlers.ts'
import type { PlantCreated } from './plant-record.ts'

it('a dead letter has all events of its batch, though the handler has taken them off its list', async () => {
  const events = [3, 4, 5].map((offset) => ({ offset: offset as Offset }) as PlantCreated)
  const letters: DeadLetter[] = []
  const callHandler = createHandlerCaller(
    {
      onPlantsCreated(taken) {
        taken.splice(0, 2)
        throw new Error('full')
      },
      onDeadLetter: (letter) => letters.push(letter),
      maxAttempts: 1,
    },
    new AbortController().signal,
  )
  await callHandler(0 as Partition, { events, checkpoint: { offset: 5 as Offset, eventId: '' } })
  expect(letters.flatMap((letter) => letter.events.map(({ offset }) => offset))).toEqual([3, 4, 5])
})
