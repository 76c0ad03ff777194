import { PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { hasBrowser, openBrowser, watch } from './support/browser.ts'
import { createPlant, readPlant } from './support/client.ts'
import { openPlantStore, type PlantStore, type RunningService, TOKEN } from './support/plant-store.ts'
import { WITH_TABLE } from './support/plants-table.ts'
import { appendTo, createTableTopic } from './support/topic.ts'

const BEYOND_DOUBLES = 9007199254740993n
const NAME = 'a name that nobody but its owner should see'
const DESKTOP = { width: 1200, height: 800 }
const PHONE = { width: 375, height: 667 }
const STOP_GRACE_MS = 10_000

const isPossible = hasBrowser('Each page')

let store: PlantStore
let projector: RunningService
let browser: Browser

beforeAll(async () => {
  if (!isPossible) return
  store = await openPlantStore()
  await createTableTopic(store)
  projector = await store.startProjector(WITH_TABLE)
  browser = await openBrowser()
  return async () => {
    await browser.close()
    await store.end()
  }
})

/** Resolves when the sentence on top of the page is this. */
const untilVerdict = (page: Page, text: RegExp) => page.getByRole('status').filter({ hasText: text }).waitFor()
/** Resolves when the page lists this. */
const untilListed = (page: Page, text: RegExp) => page.getByRole('listitem').filter({ hasText: text }).waitFor()

it.runIf(isPossible)(
  'the page shows a create, a stopped projector and its return, and says when the service is away',
  async () => {
    const api = await store.startApi()
    const page = await browser.newPage({ viewport: PHONE })
    const { requests, complaints } = watch(page)
    await page.goto(api.opsUrl)
    await untilVerdict(page, /^All is well\.$/)
    await untilListed(page, /Read model.*0plants/)
    await page.getByText(/^Plant Store api \d+\.\d+\.\d+, running for/).waitFor()

    expect((await createPlant(api.url, 1n, NAME)).response?.status).toBe(200)
    await untilListed(page, /Read model.*1plants/)
    await untilListed(page, /This api.*, window \d+% used/)
    await page.getByText(/^Time of a create: .* median, .* 99 %$/).waitFor()

    const another = await browser.newPage()
    await another.goto(projector.opsUrl)
    await untilListed(another, /^Table0records behind/)

    const poison = { partition: 0 as never, key: Buffer.from('poison'), value: Buffer.from(''), headers: {} }
    await appendTo(store, [poison])
    await untilListed(page, /^1 record parked.* 1 time: its ce_type /)

    await projector.stop({ graceMs: STOP_GRACE_MS })
    await untilVerdict(page, /^No projector is in the consumer group: .* Start one/)
    await store.startProjector()
    await untilVerdict(page, /^All is well\.$/)

    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
    expect(await page.content()).not.toContain(NAME)
    expect(complaints).toEqual([])
    expect(requests.filter((url) => !url.startsWith(`${api.opsUrl}/`))).toEqual([])

    await api.stop({ graceMs: STOP_GRACE_MS })
    await untilVerdict(page, /^Connection lost: the service has not responded for \d+ s\.$/)
  },
)

it.runIf(isPossible)(
  'the page /docs creates and reads a plant with its exact id, and sends requests to the service only',
  async () => {
    const api = await store.startApi()
    const page = await browser.newPage({ viewport: DESKTOP })
    const { requests, complaints } = watch(page)
    await page.goto(`${api.url}/docs`)
    await page.locator('.opblock').last().waitFor()
    expect(await page.getByRole('cell', { name: '40003' }).count()).toBe(1)
    await authorize(page)

    const plant = PLANT_EXAMPLES.bare
    const create = await open(page, 'createPlant')
    await create.getByRole('combobox').nth(1).selectOption('largeId')
    expect(await create.locator('textarea').inputValue()).toContain(`"id": ${BEYOND_DOUBLES},`)
    expect(await execute(create)).toEqual({ status: '200', body: JSON.stringify(plant, null, 2) })
    expect((await readPlant(api.url, BEYOND_DOUBLES))?.body).toEqual(plant)
    expect((await readPlant(api.url, BEYOND_DOUBLES - 1n))?.status).toBe(404)

    const read = await open(page, 'readPlant')
    await read.getByPlaceholder('id', { exact: true }).fill(String(BEYOND_DOUBLES))
    expect(await execute(read)).toEqual({ status: '200', body: JSON.stringify(plant, null, 2) })

    const { body } = await execute(await open(page, 'listPlants'))
    expect(body).toContain(`"id": ${BEYOND_DOUBLES},\n      "name": "${plant.name}"`)

    expect(requests.filter((url) => !url.startsWith(`${api.url}/`) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
  },
)

async function authorize(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click()
  await page.getByLabel('auth-bearer-value').fill(TOKEN)
  await page.getByRole('button', { name: 'Apply credentials' }).click()
  await page.getByRole('button', { name: 'Close' }).click()
}

/** An operation, ready to be tried. */
async function open(page: Page, operationId: string): Promise<Locator> {
  const operation = page.locator(`[id$="-${operationId}"]`)
  await operation.getByRole('button').first().click()
  await operation.getByRole('button', { name: 'Try it out' }).click()
  return operation
}

async function execute(operation: Locator): Promise<{ status: string; body: string }> {
  await operation.getByRole('button', { name: 'Execute' }).click()
  const response = operation.locator('.live-responses-table .response')
  const status = await response.locator('.response-col_status').textContent()
  const body = await response.locator('.highlight-code code').first().textContent()
  return { status: status ?? '', body: body ?? '' }
}
