import { createAppender } from '@plant-store/shared/event-log/append.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { hasBrowser, openBrowser, watch } from './support/browser.ts'
import { createPlant } from './support/client.ts'
import { openPlantStore, type PlantStore, type RunningApi, type RunningService } from './support/plant-store.ts'
import { WITH_TABLE } from './support/plants-table.ts'
import { createTableTopic } from './support/topic.ts'

const NAME = 'a name that nobody but its owner should see'
const PHONE = { width: 375, height: 667 }
const STOP_GRACE_MS = 10_000

const isPossible = hasBrowser('The page of the operations port')

let store: PlantStore
let api: RunningApi
let projector: RunningService
let browser: Browser
const closers: (() => Promise<void>)[] = []

beforeAll(async () => {
  if (!isPossible) return
  store = await openPlantStore({ kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') })
  closers.push(store.end)
  await createTableTopic(store)
  ;[api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  browser = await openBrowser()
  closers.push(() => browser.close())
})
afterAll(async () => {
  for (const close of closers.reverse()) await close()
})

/** Resolves when the sentence on top of the page is this. */
const untilVerdict = (page: Page, text: RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor()

it.runIf(isPossible)(
  'the page shows a create, a stopped projector and its return, and says when the service is away',
  async () => {
    const page = await browser.newPage({ viewport: PHONE })
    const { requests, complaints } = watch(page)
    await page.goto(api.opsUrl)
    await untilVerdict(page, /^All is well\.$/)
    const readModel = page.getByRole('listitem').filter({ hasText: 'Read model' })
    await readModel.filter({ hasText: '0plants' }).waitFor()

    let startedAt = performance.now()
    expect((await createPlant(api.url, 1n, NAME)).response?.status).toBe(200)
    await readModel.filter({ hasText: '1plants' }).waitFor()
    console.log(`a create was shown after ${Math.round(performance.now() - startedAt)} ms`)
    await page
      .getByRole('listitem')
      .filter({ hasText: /This api.*, window \d+% used/ })
      .waitFor()

    const another = await browser.newPage()
    await another.goto(projector.opsUrl)
    await another
      .getByRole('listitem')
      .filter({ hasText: /^Table0records behind/ })
      .waitFor()

    await parkRecord()
    await page
      .getByRole('listitem')
      .filter({ hasText: /^1 record parked.* 1 time: its ce_type / })
      .waitFor()

    startedAt = performance.now()
    await projector.stop({ graceMs: STOP_GRACE_MS })
    await untilVerdict(page, /^No projector is running: .* Start one/)
    console.log(`the stopped projector was shown after ${Math.round(performance.now() - startedAt)} ms`)
    await store.startProjector()
    await untilVerdict(page, /^All is well\.$/)

    await expectUsable(page)
    expect(await page.content()).not.toContain(NAME)
    expect(complaints).toEqual([])
    expect(requests.filter((url) => !url.startsWith(`${api.opsUrl}/`))).toEqual([])

    await api.stop({ graceMs: STOP_GRACE_MS })
    await untilVerdict(page, /^Connection lost: the service has not responded for \d+ s\.$/)
  },
)

/** Appends a record that is no event. */
async function parkRecord(): Promise<void> {
  const appender = createAppender(store.kafka, store.topic)
  onTestFinished(appender.close)
  await appender.append([{ partition: 0 as never, key: Buffer.from('poison'), value: Buffer.from(''), headers: {} }])
}

/** On a phone nothing is cut off, and the keyboard reaches all that can be scrolled or followed. */
async function expectUsable(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
  const reached: unknown[] = []
  for (let press = 0; press < 3; press++) {
    await page.keyboard.press('Tab')
    reached.push(await page.evaluate('document.activeElement.className || document.activeElement.textContent'))
  }
  expect(reached).toEqual(['scrolls', '/readyz', '/metrics'])
}
