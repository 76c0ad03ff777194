import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../local/places.mjs'

it('the stores for kind have the images of the compose file', () => {
  const images = (file: string) => [...readFileSync(join(root, file), 'utf8').matchAll(/image: ((?:apache|redis)\S+)/g)]
  expect(images('deploy/helm/kind-stores.yaml').map(([, image]) => image)).toEqual(
    images('docker-compose.yml').map(([, image]) => image),
  )
})
