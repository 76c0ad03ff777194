import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { allPartitions, offsetOf } from '@plant-store/shared/plant/position.ts'
import { formatToken } from '@plant-store/shared/protocol/consistency-token.ts'
import { expect, it, onTestFinished } from 'vitest'
import { freePort } from '../local/processes/port.ts'
import { startProcess } from '../local/processes/process.ts'
import { send } from './support/client.ts'
import { findPrograms } from './support/debian-package.ts'
import { startPatientCreates } from './support/endless-creates.ts'
import { eventually } from './support/eventually.ts'
import { listen } from './support/listen.ts'
import { scrape, sumOf } from './support/metrics-text.ts'
import { createPlantStore, type RunningApi } from './support/plant-store.ts'
import { temporaryFolder } from './support/temporary-folder.ts'
import { createTrustedAuthority } from './support/trusted-authority.ts'
import { unlessMissing } from './support/unless-missing.ts'

const CREATES_BETWEEN = 300
/** The clients are at another address than nginx. */
const CLIENT = '127.0.0.2'

const programs = await unlessMissing('The documented nginx was', () =>
  findPrograms('nginx', { nginx: 'usr/sbin/nginx' }),
)

it.runIf(programs !== undefined)(
  'through the documented nginx, creates with a key succeed while the apis restart one after another',
  async () => {
    const store = await createPlantStore()
    const ports = [await freePort(), await freePort()]
    const settings = { TRUST_PROXY: '127.0.0.1', LOG_LEVEL: 'debug', CORS_ORIGINS: 'https://a.example' }
    const start = (port: number) => store.startApi({ PORT: String(port), ...settings })
    const apis = await Promise.all(ports.map(start))
    await store.startProjector()
    const url = await startNginx(ports)
    const load = startPatientCreates(url)
    for (const [n, port] of ports.entries()) {
      await load.untilMore(CREATES_BETWEEN)
      const old = apis[n]
      process.kill(old?.pid ?? 0, 'SIGTERM')
      expect(await old?.exited).toEqual({ code: 0, signal: null })
      await load.untilMore(CREATES_BETWEEN)
      const started = await start(port)
      apis[n] = started
      // nginx uses it again, so the other one may end.
      await eventually(async () => expect(await createsOf(started)).toBeGreaterThan(0))
    }
    expect((await load.stop()).filter(({ response }) => response?.status !== 200)).toEqual([])

    const agent = new Agent({ localAddress: CLIENT })
    const headers = { 'x-request-id': randomUUID(), 'x-forwarded-for': '6.6.6.6' }
    expect(await send(`${url}/plants/1`, { headers, agent })).toMatchObject({ status: 200 })
    const lines = () => apis.flatMap(({ logFile }) => readFileSync(logFile, 'utf8').split('\n'))
    const logged = () => lines().find((text) => text.includes(headers['x-request-id']))
    // A line is written after its response.
    await expect.poll(logged).toBeDefined()
    expect(JSON.parse(logged() ?? '')).toMatchObject({ client: CLIENT })
    const preflight = { origin: 'https://a.example', 'access-control-request-method': 'POST' }
    expect((await send(`${url}/plants`, { method: 'OPTIONS', headers: preflight }))?.status).toBe(204)
    expect(await send(`${url}/nothing`, {})).toMatchObject({ status: 404, body: { error: 40400 } })
  },
)

it.runIf(programs !== undefined)(
  'a list of plants of 1,000 partitions comes through the documented nginx',
  async () => {
    const token = new Map(allPartitions(1_000).map((partition) => [partition, offsetOf(10_000_000)]))
    const headers = { 'plants-position': formatToken(token) }
    const port = await listen(createServer((_request, response) => response.writeHead(200, headers).end()))
    expect((await send(await startNginx([port, port]), {}))?.status).toBe(200)
  },
)

/** The number of creates that this api has answered with 200. */
const createsOf = async (api: RunningApi) =>
  sumOf(await scrape(api), 'plant_store_http_requests_total', { method: 'POST', status: '200' }) ?? 0

/** Starts nginx as the documents configure it, before these apis; returns its address. */
async function startNginx(ports: number[]): Promise<string> {
  const folder = temporaryFolder()
  const port = await freePort()
  const { cert, key } = createTrustedAuthority().issue('nginx')
  const page = readFileSync(new URL('../docs/how-to/run-behind-a-proxy.md', import.meta.url), 'utf8')
  const documented = page.split('```nginx\n')[1]?.split('```')[0] ?? ''
  const site = documented
    .replace(/api-(\d):3000/g, (_, n) => `127.0.0.1:${ports[Number(n) - 1]}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/nginx/tls.crt', cert)
    .replace('/etc/nginx/tls.key', key)
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
    events {} http { access_log off; ${folders.join(' ')} ${site} }`,
  )
  const running = await startProcess({
    name: 'nginx',
    command: programs?.nginx ?? '',
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    logFile: join(folder, 'nginx.log'),
    env: {},
  })
  onTestFinished(async () => void (await running.stop({ graceMs: 1_000 })))
  const url = `https://127.0.0.1:${port}`
  await eventually(async () => expect(await send(`${url}/nothing`, {})).toBeDefined())
  return url
}
