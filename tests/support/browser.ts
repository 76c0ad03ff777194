import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((file) => existsSync(file))

/** True if a Chromium is installed; otherwise a warning names the pages that are not tried. */
export function hasBrowser(pages: string): boolean {
  if (executablePath === undefined)
    console.warn(`${pages} was not tried: install one of ${NAMES.join(', ')}, so that it is on the PATH.`)
  return executablePath !== undefined
}

/** Chromium's sandbox does not work for root, as whom containers often run the tests. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath ?? '', chromiumSandbox: process.getuid?.() !== 0 })

/** The requests of the page, its errors, and violations of its Content-Security-Policy. */
export function watch(page: Page): { requests: string[]; complaints: string[] } {
  const requests: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { requests, complaints }
}
