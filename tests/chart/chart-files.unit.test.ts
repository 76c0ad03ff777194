import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { valuesSchemaJson } from '../../deploy/helm/values-schema.ts'
import { root } from '../../local/places.mjs'
import { CHART } from './helm.ts'

it('the schema of the values is up to date: npm run describe', () => {
  expect(readFileSync(join(CHART, 'values.schema.json'), 'utf8')).toBe(valuesSchemaJson())
})

it('the chart has the version of the project', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'))).toMatchObject({ version, appVersion: version })
})

it('the stores for kind have the images of the compose file', () => {
  const images = (file: string) => [...readFileSync(join(root, file), 'utf8').matchAll(/image: ((?:apache|redis)\S+)/g)]
  expect(images('deploy/helm/kind-stores.yaml').map(([, image]) => image)).toEqual(
    images('docker-compose.yml').map(([, image]) => image),
  )
})
