import { createLatchedTopic } from '@plant-store/shared/event-log/latch.ts'
import { expect, it } from 'vitest'
import { deleteTopic } from './support/backups.ts'
import { createPlant, errorOf, idsFrom, readPlant } from './support/client.ts'
import { newEvent } from './support/new-events.ts'
import { createPlantStore } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { appendTo } from './support/topic.ts'

const DUPLICATE_ID = 40003
const IDS = idsFrom(0, 20)

it('no service starts on a log that is being restored; with an empty Redis both serve it afterwards', async () => {
  const store = await createPlantStore()
  const events = IDS.map((id) => newEvent(id, store.partitions))
  await appendTo(store, events)
  const folder = temporaryFolder()
  const plantctl = (...args: string[]) => startPlantctl(args, store.environment).ended
  expect(await plantctl('backup', '--to', folder)).toMatchObject({ code: 0 })
  await deleteTopic(store)
  await createLatchedTopic(store.kafka, store, new Map(), 0)

  await expect(store.startApi()).rejects.toThrow(/exit code 78.*is being restored and may lack records/s)
  await expect(store.startProjector()).rejects.toThrow(/exit code 78.*is being restored and may lack records/s)

  expect(await plantctl('restore', '--from', folder)).toMatchObject({ code: 0 })
  const [api] = await Promise.all([store.startApi(), store.startProjector()])
  for (const id of IDS) {
    expect((await readPlant(api.url, id))?.status).toBe(200)
    expect(errorOf((await createPlant(api.url, id, 'a second one')).response)).toBe(DUPLICATE_ID)
  }
})
