import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inject, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { javaEnvironment } from '../../local/stores/java.ts'
import { ensureBuilt, findGo, goEnvironment } from '../../local/toolchain/go.ts'
import { installPython } from '../../local/toolchain/python.ts'
import { runStep } from '../support/run-step.ts'

const DESCRIPTION = join(root, 'docs/openapi.yaml')
const FOLDER = join(import.meta.dirname, 'generators')
const OAPI_CODEGEN = { source: 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen', version: 'v2.8.2' }

it('no rule of Spectral for OpenAPI finds anything in the description', async () => {
  const folder = join(FOLDER, 'spectral')
  await runStep('npm', ['ci'], { cwd: folder })
  await runStep('npm', ['run', 'lint'], { cwd: folder })
})

it('a Go client by oapi-codegen compiles', async () => {
  const folder = target('go')
  for (const file of ['go.mod', 'go.sum', 'oapi-codegen.yaml'])
    copyFileSync(join(FOLDER, 'go', file), join(folder, file))
  const generator = await ensureBuilt({ ...OAPI_CODEGEN, program: 'oapi-codegen' })
  const go = await findGo()
  // The generator runs it from the PATH.
  const env = { ...goEnvironment(), PATH: `${process.env.PATH}:${dirname(go)}` }
  await runStep(generator, ['-config', 'oapi-codegen.yaml', DESCRIPTION], { cwd: folder, env })
  await runStep(go, ['vet', './...'], { cwd: folder, env })
})

it('a Java client by OpenAPI Generator compiles', async () => {
  const args = ['-B', '-q', '-f', join(FOLDER, 'java/pom.xml'), 'compile', `-Dtarget=${target('java')}`]
  await runStep('mvn', args, { cwd: FOLDER, env: javaEnvironment() })
})

it('a Python client by openapi-python-client has no fault of types', async () => {
  const folder = target('python')
  const commands = await installPython('generated-python', join(FOLDER, 'python/requirements.txt'))
  const args = ['generate', '--path', DESCRIPTION, '--output-path', folder, '--overwrite']
  await runStep(join(commands, 'openapi-python-client'), args, { cwd: folder })
  await runStep(join(commands, 'mypy'), ['--strict', 'plant_store_client'], { cwd: folder })
})

/** A new folder for what is generated. */
function target(language: string): string {
  const folder = join(inject('testRun'), `client-${language}`)
  mkdirSync(folder)
  return folder
}
