import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './places.mjs'
import { Failure, runProgram } from './processes/failure.mjs'

// node local/release.mjs TAG: checks that each file with a version has the tag's, and prints the section of
// CHANGELOG.md about it.

const CHART = 'deploy/helm/plant-store/Chart.yaml'
const EVENTS = 'docs/asyncapi.yaml'
const TAG = /^v(\d+\.\d+\.\d+)$/

/**
 * @param {string} tag
 * @param {(file: string) => string | undefined} read the content of a file of the project, if there is such a file
 * @returns {string} the notes of the release
 * @throws {Failure} that names everything which has to be changed
 */
export function releaseNotes(tag, read) {
  const version = TAG.exec(tag)?.[1]
  if (version === undefined) throw new Failure(`The tag ${tag} is not of the form v1.2.3.`)
  const { workspaces } = JSON.parse(read('package.json') ?? '{}')
  /** @type {string[]} */
  const problems = []
  /** @param {string} file @param {string} field @param {string | undefined} found */
  const compare = (file, field, found) => {
    if (found !== version) problems.push(`${file} has ${field} ${found}`)
  }
  for (const folder of ['', ...workspaces.map((/** @type {string} */ folder) => `${folder}/`)])
    compare(`${folder}package.json`, 'version', JSON.parse(read(`${folder}package.json`) ?? '{}').version)
  for (const field of ['version', 'appVersion'])
    compare(CHART, field, new RegExp(`^${field}: *"?([^"\\s]+)`, 'm').exec(read(CHART) ?? '')?.[1])
  compare(EVENTS, 'version', /^ {2}version: (.*)/m.exec(read(EVENTS) ?? '')?.[1])
  const changelog = read('CHANGELOG.md') ?? ''
  const notes = sectionOf(changelog, version)
  if (!notes) problems.push(`CHANGELOG.md says nothing under [${version}]`)
  if (sectionOf(changelog, 'Unreleased')) problems.push('CHANGELOG.md has entries under [Unreleased]')
  if (notes && problems.length === 0) return notes
  throw new Failure(`The tag ${tag} does not agree with the project:\n${problems.map((one) => `  ${one}`).join('\n')}`)
}

/** @param {string} changelog @param {string} name */
function sectionOf(changelog, name) {
  const section = changelog.split(/^## /m).find((text) => text.startsWith(`[${name}]`))
  return section?.split('\n').slice(1).join('\n').trim()
}

/** @param {string} file */
const readFile = (file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined)

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await runProgram(async ([tag = '']) => {
    process.stdout.write(`${releaseNotes(tag, readFile)}\n`)
    return 0
  })
