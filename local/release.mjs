import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './places.mjs'
import { Failure, runProgram } from './processes/failure.mjs'

// node local/release.mjs TAG: checks that the tag has the version of the project, which a test compares in all files that
// have it, and prints the section of CHANGELOG.md about it.

/**
 * @param {string} tag
 * @param {(file: string) => string} read the content of a file of the project
 * @returns {string} the notes of the release
 * @throws {Failure} that names everything which has to be changed
 */
export function releaseNotes(tag, read) {
  const version = /^v(\d+\.\d+\.\d+)$/.exec(tag)?.[1]
  if (version === undefined) throw new Failure(`The tag ${tag} is not of the form v1.2.3.`)
  const { version: found } = JSON.parse(read('package.json'))
  const sections = read('CHANGELOG.md').split(/^## /m)
  const [notes, unreleased] = [version, 'Unreleased'].map((name) => {
    const section = sections.find((text) => text.startsWith(`[${name}]`))
    return section?.split('\n').slice(1).join('\n').trim()
  })
  const problems = [
    found !== version && `package.json has version ${found}`,
    !notes && `CHANGELOG.md says nothing under [${version}]`,
    unreleased && 'CHANGELOG.md has entries under [Unreleased]',
  ].filter(Boolean)
  if (notes && problems.length === 0) return notes
  throw new Failure(`The tag ${tag} does not agree with the project:\n${problems.map((one) => `  ${one}`).join('\n')}`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await runProgram(async ([tag = '']) => {
    process.stdout.write(`${releaseNotes(tag, (file) => readFileSync(join(root, file), 'utf8'))}\n`)
    return 0
  })
