import { PLANT_EXAMPLES } from '@plant-store/shared/plant/plant.ts'
import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { hasBrowser, openBrowser, watch } from './support/browser.ts'
import { createPlant, readPlant } from './support/client.ts'
import { eventually } from './support/eventually.ts'
import { openPlantStore, type RunningApi, TOKEN } from './support/plant-store.ts'

const BEYOND_DOUBLES = 9007199254740993n
const VIEWPORT = { width: 1200, height: 800 }

const isPossible = hasBrowser('The page /docs')

let api: RunningApi
let browser: Browser

beforeAll(async () => {
  if (!isPossible) return
  const store = await openPlantStore()
  ;[api] = await Promise.all([store.startApi(), store.startProjector()])
  browser = await openBrowser()
  return async () => {
    await browser.close()
    await store.end()
  }
})

it.runIf(isPossible)(
  'the page /docs creates and reads a plant with its exact id, and sends requests to the service only',
  async () => {
    const page = await browser.newPage({ viewport: VIEWPORT })
    const { requests, complaints } = watch(page)
    await page.goto(`${api.url}/docs`)
    await expectOperationsFirst(page)
    await authorize(page)

    const plant = PLANT_EXAMPLES.bare
    const create = await open(page, 'createPlant')
    await create.getByRole('combobox').nth(1).selectOption('largeId')
    expect(await create.locator('textarea').inputValue()).toContain(`"id": ${BEYOND_DOUBLES},`)
    expect(await execute(create)).toEqual({ status: '200', body: JSON.stringify(plant, null, 2) })
    expect((await readPlant(api.url, BEYOND_DOUBLES))?.body).toEqual(plant)
    expect((await readPlant(api.url, BEYOND_DOUBLES - 1n))?.status).toBe(404)

    await createPlant(api.url, BEYOND_DOUBLES - 1n, 'the id that a double would make of it')
    const read = await open(page, 'readPlant')
    await read.getByPlaceholder('id', { exact: true }).fill(String(BEYOND_DOUBLES))
    expect(await execute(read)).toEqual({ status: '200', body: JSON.stringify(plant, null, 2) })

    const list = await open(page, 'listPlants')
    expect(await execute(list)).toMatchObject({
      status: '200',
      body: expect.stringContaining(`"id": ${BEYOND_DOUBLES},\n      "name": "${plant.name}"`),
    })

    expect(requests.filter((url) => !url.startsWith(`${api.url}/`) && !url.startsWith('data:'))).toEqual([])
    expect(complaints).toEqual([])
  },
)

it.runIf(isPossible)('the page /docs is as dark as the system', async () => {
  const page = await browser.newPage({ viewport: VIEWPORT, colorScheme: 'dark' })
  await page.goto(`${api.url}/docs`)
  await page.locator('.opblock').last().waitFor()
  const lightness = (of: string) =>
    page.evaluate(
      `Number(getComputedStyle(document.querySelector('${of}')).${
        of === 'html' ? 'backgroundColor' : 'color'
      }.match(/\\d+/)[0])`,
    )
  expect(await lightness('html')).toBeLessThan(64)
  expect(await lightness('.info h1')).toBeGreaterThan(192)
  await page.emulateMedia({ colorScheme: 'light' })
  await eventually(async () => expect(await lightness('.info h1')).toBeLessThan(64))
})

/** All operations are visible without scrolling, and the table of error numbers follows them. */
async function expectOperationsFirst(page: Page): Promise<void> {
  const operations = page.locator('.opblock')
  await operations.last().waitFor()
  expect(await operations.count()).toBe(3)
  const last = await operations.last().boundingBox()
  const errors = await page.getByRole('heading', { name: 'Errors' }).boundingBox()
  const end = (last?.y ?? 0) + (last?.height ?? 0)
  expect(end).toBeLessThan(VIEWPORT.height)
  expect(errors?.y).toBeGreaterThan(end)
  expect(await page.getByRole('cell', { name: '40003' }).count()).toBe(1)
}

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
