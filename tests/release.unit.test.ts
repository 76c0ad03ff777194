import { expect, it } from 'vitest'
import { releaseNotes } from '../local/release.mjs'

const CHART = 'deploy/helm/plant-store/Chart.yaml'
const CHANGELOG = `# Changelog

## [Unreleased]

## [1.2.0] - 2026-12-01

### Added

- A thing.

## [1.1.0]

- Another.
`

const FILES: Record<string, string> = {
  'package.json': '{ "version": "1.2.0", "workspaces": ["shared"] }',
  'shared/package.json': '{ "version": "1.2.0" }',
  [CHART]: 'name: plant-store\nversion: 1.2.0\nappVersion: "1.2.0"\n',
  'docs/asyncapi.yaml': 'asyncapi: 3.0.0\ninfo:\n  version: 1.2.0\n',
  'CHANGELOG.md': CHANGELOG,
}

const notesOf = (tag: string, changed: Record<string, string> = {}) =>
  releaseNotes(tag, (file) => ({ ...FILES, ...changed })[file])

it('takes the notes of a release from its section of the changelog', () => {
  expect(notesOf('v1.2.0')).toBe('### Added\n\n- A thing.')
})

it.each([
  ['package.json has version 1.1.0', { 'package.json': '{ "version": "1.1.0", "workspaces": [] }' }],
  ['shared/package.json has version 1.2.1', { 'shared/package.json': '{ "version": "1.2.1" }' }],
  [`${CHART} has version 1.1.0`, { [CHART]: 'version: 1.1.0\nappVersion: 1.2.0\n' }],
  [`${CHART} has appVersion 1.2.00`, { [CHART]: 'version: 1.2.0\nappVersion: "1.2.00"\n' }],
  ['docs/asyncapi.yaml has version undefined', { 'docs/asyncapi.yaml': 'asyncapi: 3.0.0\n' }],
  ['CHANGELOG.md says nothing under [1.2.0]', { 'CHANGELOG.md': CHANGELOG.replace('[1.2.0]', '[1.2.0-rc.1]') }],
  [
    'CHANGELOG.md has entries under [Unreleased]',
    { 'CHANGELOG.md': CHANGELOG.replace('[Unreleased]\n', '[Unreleased]\n\n- New.\n') },
  ],
])('refuses a tag when %s', (problem, changed) => {
  expect(() => notesOf('v1.2.0', changed)).toThrow(problem)
})

it('names everything that is to be changed at once', () => {
  expect(() => notesOf('v2.0.0')).toThrow(
    /package.json has .*\n.*shared.*\n.*Chart.*\n.*Chart.*\n.*asyncapi.*\n.*\[2.0.0\]/,
  )
})

it.each(['1.2.0', 'v1.2', 'v1.2.0; rm', ''])('refuses the tag "%s"', (tag) => {
  expect(() => notesOf(tag)).toThrow('is not of the form v1.2.3')
})
