import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { root } from '../local/places.mjs'
import { releaseNotes } from '../local/release.mjs'

const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-12-01

### Added

- A thing.

## [1.1.0]

- Another.
`

const FILES: Record<string, string> = { 'package.json': '{ "version": "1.2.0" }', 'CHANGELOG.md': CHANGELOG }

const notesOf = (tag: string, changed: Record<string, string> = {}) =>
  releaseNotes(tag, (file) => String({ ...FILES, ...changed }[file]))

it('takes the notes of a release from its section of the changelog', () => {
  expect(notesOf('v1.2.0')).toBe('### Added\n\n- A thing.')
})

it.each([
  ['package.json has version 1.1.0', { 'package.json': '{ "version": "1.1.0" }' }],
  ['CHANGELOG.md says nothing under [1.2.0]', { 'CHANGELOG.md': CHANGELOG.replace('[1.2.0]', '[1.2.0-rc.1]') }],
  [
    'CHANGELOG.md has entries under [Unreleased]',
    { 'CHANGELOG.md': CHANGELOG.replace('[Unreleased]\n', '[Unreleased]\n\n- New.\n') },
  ],
])('refuses a tag when %s', (problem, changed) => {
  expect(() => notesOf('v1.2.0', changed)).toThrow(problem)
})

it('refuses a tag of another form', () => {
  expect(() => notesOf('v1.2.0; rm')).toThrow('is not of the form v1.2.3')
})

it('each file with a version has that of the project', () => {
  const read = (file: string) => parse(readFileSync(join(root, file), 'utf8'))
  const { version, workspaces } = read('package.json')
  for (const folder of workspaces) expect(read(`${folder}/package.json`).version, folder).toBe(version)
  expect(read('deploy/helm/plant-store/Chart.yaml')).toMatchObject({ version, appVersion: version })
  expect(read('docs/asyncapi.yaml').info.version).toBe(version)
})
