import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Run, readRun } from '../../local/launch/run-file.ts'
import { root } from '../../local/places.mjs'
import { describe } from '../../local/processes/failure.mjs'
import { freePort } from '../../local/processes/port.ts'
import { killLivingGroups, startProcess, untilReady } from '../../local/processes/process.ts'
import { hasBrowser, openBrowser } from './browser.ts'
import { endWithProcess } from './end-with-process.ts'
import { startPlantctl } from './plantctl.ts'

// node local/run.mjs node tests/support/screenshots.ts: takes the pictures of the live page in docs/images, of a store that it starts.

const IMAGES = join(root, 'docs/images')
const VIEWPORT = { width: 1100, height: 900 }
const START_TIMEOUT_MS = 180_000
const CONNECTIONS = 2
const HISTORY_MS = 60_000
const STATE_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 15_000

endWithProcess(killLivingGroups)
process.exitCode = await main().catch((error: Error) => {
  console.error(describe(error))
  return 1
})

async function main(): Promise<number> {
  if (!hasBrowser('The live page')) return 1
  const localDir = mkdtempSync(join(tmpdir(), 'plant-store-screenshots-'))
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PLANT_STORE_LOCAL_DIR: localDir,
    PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
  }
  const args = [join(root, 'local/start.ts'), '--with', 'processes']
  const running = await startProcess({
    ...{ name: 'npm start', command: process.execPath, args, env },
    logFile: join(localDir, 'launcher.log'),
  })
  await untilReady(running, {
    isReady: async () => readRun(localDir) !== undefined,
    startTimeoutMs: START_TIMEOUT_MS,
  })
  const store = readRun(localDir) as Run
  const browser = await openBrowser()
  let isGoing = true
  try {
    const page = await browser.newPage({ viewport: VIEWPORT })
    await page.goto(String(store.opsUrls.api))
    const until = (verdict: RegExp) =>
      page.getByRole('status').filter({ hasText: verdict }).waitFor({ timeout: STATE_TIMEOUT_MS })
    mkdirSync(IMAGES, { recursive: true })
    const take = (name: string) => page.screenshot({ path: join(IMAGES, `live-page-${name}.png`), fullPage: true })

    const load = createPlants(store, () => isGoing)
    await delay(HISTORY_MS)
    await until(/^All is well/)
    await take('well')

    const plantctl = startPlantctl(['rebuild'], { ...env, ...process.env })
    await page.locator('#rebuild').waitFor({ timeout: STATE_TIMEOUT_MS })
    plantctl.kill('SIGSTOP')
    await take('rebuild')
    plantctl.kill('SIGCONT')
    await plantctl.ended

    process.kill(store.pids.projector as number, 'SIGSTOP')
    await until(/^No projector is running/)
    await take('projector-stopped')
    process.kill(store.pids.projector as number, 'SIGCONT')
    isGoing = false
    await load
    return 0
  } finally {
    await browser.close()
    await running.stop({ graceMs: STOP_GRACE_MS })
    rmSync(localDir, { recursive: true, force: true })
  }
}

async function createPlants({ url, token }: Run, isGoing: () => boolean): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const connection = async (first: number) => {
    for (let id = first; isGoing(); id += CONNECTIONS) {
      const body = JSON.stringify({ id, name: `plant ${id}`, tag: 'indoor' })
      await (await fetch(`${url}/plants`, { method: 'POST', headers, body })).text()
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => connection(n)))
}
