import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { root } from '../../local/places.mjs'
import { billOfMaterials } from '../../local/sbom.ts'
import { buildImage, COMPOSE_MS, docker, IMAGE } from '../support/compose.ts'

const RELEASE = { VERSION: '9.8.7', REVISION: 'c0ffee', SOURCE: 'https://example.org/plant-store' }

const hasDocker = inject('storeSource') === 'docker'
if (!hasDocker) console.warn('No Docker engine is used: the tests of the image do not run.')

type Config = { User: string; Env: string[]; Labels: Record<string, string> }

const inImage = (...command: string[]) => docker('run', '--rm', '--read-only', IMAGE, ...command)

/** The Node of the base. A stand-in for the base has its tag, and may have another Node than the project. */
function nodeOfBase(): string {
  const standIn = process.env.PLANT_STORE_TEST_DOCKERFILE
  if (standIn === undefined) return `v${readFileSync(`${root}.node-version`, 'utf8').trim()}`
  const [, base = ''] = /^FROM (\S+) AS node$/m.exec(readFileSync(`${root}${standIn}`, 'utf8')) ?? []
  return docker('run', '--rm', '--entrypoint', 'node', base, '--version')
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')

describe.runIf(hasDocker)('the image', () => {
  beforeAll(() => buildImage(RELEASE), COMPOSE_MS)

  it('has the labels of its release, a numeric user, plantctl, and no setting but the documented ones', () => {
    expect(inImage('plantctl', '--help')).toMatch(/^The operator's command line/)
    const config = JSON.parse(docker('inspect', '--format', '{{json .Config}}', IMAGE)) as Config
    expect(config.User).toBe('1000:1000')
    expect(config.Labels).toEqual({
      'org.opencontainers.image.title': 'Plant Store',
      'org.opencontainers.image.description': expect.any(String),
      'org.opencontainers.image.licenses': 'MIT',
      'org.opencontainers.image.source': RELEASE.SOURCE,
      'org.opencontainers.image.version': RELEASE.VERSION,
      'org.opencontainers.image.revision': RELEASE.REVISION,
    })
    const names = new Set(config.Env.map((setting) => setting.split('=')[0]))
    expect(names).toEqual(new Set(['HOST', 'NODE_ENV', 'OPS_PORT', 'PATH', 'PORT']))
  })

  it('has the Node of the project, and none of what builds and tests it', () => {
    expect(inImage('node', '--version')).toBe(nodeOfBase())
    expect(linesOf(inImage('ls', '/usr/local/bin', '/usr/local/lib'))).toEqual([
      ...['/usr/local/bin:', 'node', 'plantctl'],
      '/usr/local/lib:',
    ])
    const tests = ['-name', '*.test.*', '-o', '-name', '*.map', '-o', '-name', '*.d.ts', '-o', '-name', 'test']
    expect(linesOf(inImage('find', '/plant-store', ...tests))).toEqual([])
    const secrets = ['-name', '.env*', '-o', '-name', '*.pem', '-o', '-name', '*.key', '-o', '-name', '.npmrc']
    expect(linesOf(inImage('find', '/plant-store', '/run', '/tmp', ...secrets))).toEqual([])
    expect(linesOf(inImage('ls', '-A', '/plant-store', '/run/plant-store'))).toEqual([
      ...['/plant-store:', 'LICENSE', 'local', 'node_modules', 'package.json', 'plantctl', 'services', 'shared'],
      '/run/plant-store:',
    ])
  })

  it('has exactly the packages of the software bill of materials', () => {
    const { components } = billOfMaterials()
    const walk = `
      const { existsSync, readFileSync, readdirSync } = require('node:fs')
      function list(folder) {
        for (const name of existsSync(folder) ? readdirSync(folder) : []) {
          if (name.startsWith('@')) list(folder + '/' + name)
          else if (existsSync(folder + '/' + name + '/package.json')) {
            const found = JSON.parse(readFileSync(folder + '/' + name + '/package.json'))
            console.log('pkg:npm/' + found.name.replace('@', '%40') + '@' + found.version)
            list(folder + '/' + name + '/node_modules')
          }
        }
      }
      list('/plant-store/node_modules')`
    const installed = new Set(linesOf(inImage('node', '--eval', walk)))
    expect([...installed].toSorted()).toEqual([...new Set(components.map(({ purl }) => purl))].toSorted())
  })
})
