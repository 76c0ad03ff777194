import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { plantCreated } from '../../shared/src/plant/plant-created.ts'
import { newPlant } from '../support/generated-plants.ts'
import { openTopic } from '../support/open-topic.ts'
import { runStep } from '../support/run-step.ts'
import { eventId } from '../support/small-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const PARTITIONS = 3
const STEP_TIMEOUT_MS = 120_000
const APPLICATIONS = join(root, 'tests/consumers/package')
/** Dependencies of an application, in versions that the services do not use. */
const OF_APPLICATIONS = { ioredis: '5.4.1', pino: '9.0.0', 'prom-client': '14.2.0' }
const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const released = (name: string) => `${name}@${devDependencies[name]}`

/** Without what `npm run` sets for the scripts of this repository. */
const ofNpm = Object.keys(process.env).filter((name) => /^npm_(package|lifecycle|config_local_prefix)/.test(name))
const OUTSIDE = Object.fromEntries(ofNpm.map((name) => [name, undefined]))

/** Strict compiler options. They also check the declarations of all packages. */
const COMPILER_OPTIONS = {
  ...{ target: 'es2024', module: 'nodenext', outDir: 'built', types: ['node'] },
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
}

it('the package, installed elsewhere, compiles strictly, replays a log and consumes it, and needs only the packages that it uses', async () => {
  const folder = temporaryFolder()
  const step = (command: string, args: string[], cwd = folder) =>
    runStep(command, args, { cwd, env: OUTSIDE, timeoutMs: STEP_TIMEOUT_MS })
  const installed = (name: string) => existsSync(join(folder, 'node_modules', name))

  await step('npm', ['run', 'pack:consumer', '--', '--pack-destination', folder], root)
  const [tarball = ''] = readdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'elsewhere', private: true, type: 'module' }))
  await step('npm', ['install', `./${tarball}`, released('kafkajs'), released('@types/node')])
  const packed = join(folder, 'node_modules/@plant-store/shared')
  expect(readdirSync(packed)).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'dist', 'package.json']))
  expect(readdirSync(packed)).not.toContain('src')
  expect(['ioredis', 'pino', 'prom-client', 'kafkajs'].filter(installed)).toEqual(['kafkajs'])

  // Nor does it conflict with the dependencies of an application.
  const other = temporaryFolder()
  writeFileSync(join(other, 'package.json'), JSON.stringify({ name: 'other', dependencies: OF_APPLICATIONS }))
  await step('npm', ['install', '--package-lock-only', join(folder, tarball)], other)

  const topic = await openTopic(PARTITIONS)
  const records = [plantCreated({ ...newPlant(-(2n ** 63n)), tag: 'herb' }, eventId(1), PARTITIONS)]
  records.push(plantCreated(newPlant(7n), eventId(2), PARTITIONS))
  await topic.appendRecords(records)
  await topic.appendRecords([plantCreated({ ...newPlant(7n), name: 'late' }, eventId(3), PARTITIONS)])

  const files = ['replaying.ts', 'consuming.ts']
  for (const file of files) copyFileSync(join(APPLICATIONS, file), join(folder, file))
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files }))
  await step(join(root, 'node_modules/.bin/tsc'), ['-p', '.'])
  const said = await step('node', ['built/replaying.js', inject('kafkaBrokers'), topic.topic])
  const { ends, plants, own, ...rest } = lastLine(said)
  expect(plants).toEqual(
    expect.arrayContaining([
      { id: String(-(2n ** 63n)), name: `plant ${-(2n ** 63n)}`, tag: 'herb' },
      { id: '7', name: 'plant 7' },
    ]),
  )
  expect(rest).toEqual({ voids: 1, code: 'invalid-options', kinds: ['function', 'function'] })
  expect(own).toEqual({ ends, hasZstd: false })

  const places = [inject('kafkaBrokers'), topic.topic]
  expect(byId(lastLine(await step('node', ['built/consuming.js', ...places, '2'])))).toEqual(byId(plants))
})

const byId = (plants: { id: string }[]) => plants.toSorted((a, b) => a.id.localeCompare(b.id))

/** The last line of an application: warnings about a broker that has just started may precede it. */
function lastLine(said: string) {
  return JSON.parse(said.trim().split('\n').at(-1) ?? '')
}
