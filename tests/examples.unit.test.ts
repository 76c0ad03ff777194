import { join } from 'node:path'
import { expect, it } from 'vitest'
import { environment } from '../examples/run.ts'
import { root } from '../local/places.mjs'
import { runCommand } from '../local/processes/command.ts'

it.each([
  ['connect', {}, 'PLANTS_FILE'],
  ['connect-jdbc', { JDBC_USER: 'postgres' }, 'JDBC_URL, JDBC_PASSWORD'],
])('the example %s does not start without its settings', async (name, settings, missing) => {
  const unset = { PLANTS_FILE: undefined, JDBC_URL: undefined, JDBC_USER: undefined, JDBC_PASSWORD: undefined }
  const env = { ...process.env, ...unset, ...settings }
  const ended = await runCommand(process.execPath, [join(root, 'examples/run.ts'), name], { env, timeoutMs: 30_000 })
  const output = `The example ${name} needs ${missing}: see examples/${name}/README.md.\n`
  expect(ended).toMatchObject({ code: 1, output })
})

it.each([
  [{}, 'plants.table'],
  [{ PLANTS_TOPIC: 'trees' }, 'trees.table'],
  [{ PLANTS_TOPIC: 'trees', PLANTS_TABLE: 'on' }, 'trees.table'],
  [{ PLANTS_TOPIC: 'trees', PLANTS_TABLE: 'trees.table.2' }, 'trees.table.2'],
])('with the settings %o, the examples read the table %s', (settings, table) => {
  expect(environment({ KAFKA_BROKERS: 'kafka:9092', ...settings }).PLANTS_TABLE).toBe(table)
})
