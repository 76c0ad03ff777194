import { execFileSync } from 'node:child_process'
import { root } from './places.mjs'

// Fails when a package that the services, plantctl or the consumer library are shipped with has a licence that is not
// permissive, or none.

const PERMISSIVE = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD'])
const TIMEOUT_MS = 60_000
const MAX_BYTES = 16 * 1_048_576

/** @typedef {{ name: string, version: string, licenses?: { license?: { id?: string } }[] }} Component */

const bill = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--omit=dev'], {
  cwd: root,
  timeout: TIMEOUT_MS,
  maxBuffer: MAX_BYTES,
})
/** @type {{ components: Component[] }} */
const { components } = JSON.parse(bill.toString())
const others = components.filter(
  ({ licenses = [] }) => licenses.length === 0 || licenses.some(({ license }) => !PERMISSIVE.has(license?.id ?? '')),
)
for (const { name, version, licenses } of others) {
  const found = licenses === undefined ? 'no licence' : JSON.stringify(licenses)
  console.error(`${name} ${version} has ${found}, which is not among the permissive ones in local/licences.mjs`)
}
process.exitCode = others.length === 0 ? 0 : 1
