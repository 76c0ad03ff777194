import { readFileSync } from 'node:fs'

/**
 * The images that docker-compose.yml names, which is where their versions are chosen.
 *
 * @returns {{ kafka: string, redis: string }}
 */
export function storeImages() {
  const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
  const named = (/** @type {string} */ repository) => {
    const image = new RegExp(`^ +image: (${repository}:\\S+)$`, 'm').exec(compose)?.[1]
    if (!image) throw new Error(`docker-compose.yml names no image of ${repository}.`)
    return image
  }
  return { kafka: named('apache/kafka'), redis: named('redis') }
}
