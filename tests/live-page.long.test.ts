import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { hasBrowser, openBrowser, watch } from './support/browser.ts'
import { createPlant } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { startOwnRedis } from './support/own-stores.ts'
import {
  createPlantStore,
  openPlantStore,
  type PlantStore,
  type RunningApi,
  type RunningService,
} from './support/plant-store.ts'
import { WITH_TABLE } from './support/plants-table.ts'
import { appendTo, createTableTopic } from './support/topic.ts'

const NAME = 'a name that nobody but its owner should see'
const PHONE = { width: 375, height: 667 }
const STOP_GRACE_MS = 10_000

const isPossible = hasBrowser('The page of the operations port')

let store: PlantStore
let api: RunningApi
let projector: RunningService
let browser: Browser

beforeAll(async () => {
  if (!isPossible) return
  store = await openPlantStore()
  await createTableTopic(store)
  ;[api, projector] = await Promise.all([store.startApi(), store.startProjector(WITH_TABLE)])
  browser = await openBrowser()
  return async () => {
    await browser.close()
    await store.end()
  }
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
    await page.getByText(/^Plant Store api \d+\.\d+\.\d+, running for/).waitFor()
    expect(await page.getByRole('cell', { name: 'none' }).count()).toBe(store.partitions)

    expect((await createPlant(api.url, 1n, NAME)).response?.status).toBe(200)
    await readModel.filter({ hasText: '1plants' }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: /This api.*, window \d+% used/ })
      .waitFor()

    // The only value of its series: no line leads to it.
    await eventually(async () => expect(await page.evaluate(isDrawn('Time of a create', '--water'))).toBe(true))
    await page.getByText(/^Time of a create: .* median, .* 99 %$/).waitFor()

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

    await projector.stop({ graceMs: STOP_GRACE_MS })
    await untilVerdict(page, /^No projector is in the consumer group: .* Start one/)
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

it.runIf(isPossible)('the page shows the numbers of the read model as unknown while Redis is away', async () => {
  const redis = await startOwnRedis()
  const own = await createPlantStore({ redisUrl: redis.url })
  const cutOff = await own.startApi()
  const page = await browser.newPage()
  await page.goto(cutOff.opsUrl)
  const readModel = page.getByRole('listitem').filter({ hasText: 'Read model' })
  await readModel.filter({ hasText: /0plants, 0 records behind$/ }).waitFor()
  await redis.stop()
  await readModel.filter({ hasText: /\?plants, \? records behind$/ }).waitFor()
})

/** An expression for the browser: true when the chart with this caption has a pixel in this colour. */
const isDrawn = (caption: string, colour: string) => `(() => {
  const figure = [...document.querySelectorAll('figure')].find((one) => one.textContent.startsWith('${caption}'))
  const canvas = figure.querySelector('canvas')
  const wanted = getComputedStyle(document.documentElement).getPropertyValue('${colour}')
  const [r, g, b] = wanted.match(/[0-9a-f]{2}/g).map((hex) => Number.parseInt(hex, 16))
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true })
  copy.drawImage(canvas, 0, 0)
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height)
  return data.some((_, n) => n % 4 === 0 && data[n] === r && data[n + 1] === g && data[n + 2] === b)
})()`

/** Appends a record that is no event. */
async function parkRecord(): Promise<void> {
  await appendTo(store, [{ partition: 0 as never, key: Buffer.from('poison'), value: Buffer.from(''), headers: {} }])
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
