import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from '../../local/places.mjs'
import { CHART } from './helm.ts'

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
