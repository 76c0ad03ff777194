import { execFileSync } from 'node:child_process'
import { root } from './places.mjs'

// Prints the software bill of materials of what is shipped, in CycloneDX. Fails when a package that the services,
// plantctl or the consumer library are shipped with has a licence that is not permissive, or none.

const PERMISSIVE = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD'])

type Component = {
  name: string
  version: string
  purl: string
  'bom-ref': string
  licenses?: { license?: { id?: string } }[]
  properties?: { name: string; value: string }[]
}
type Bill = { components: Component[]; dependencies: { ref: string; dependsOn: string[] }[] }

/** The bill of all that is shipped. `npm sbom --omit=dev` would omit what development needs, too. */
export function billOfMaterials(): Bill {
  const options = { cwd: root, timeout: 60_000, maxBuffer: 16 * 1_048_576 }
  const bill: Bill = JSON.parse(execFileSync('npm', ['sbom', '--sbom-format=cyclonedx'], options).toString())
  const components = bill.components.filter(
    ({ properties = [] }) =>
      !properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true'),
  )
  const left = new Set(bill.components.filter((one) => !components.includes(one)).map((one) => one['bom-ref']))
  const dependencies = bill.dependencies
    .filter(({ ref }) => !left.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => !left.has(other)) }))
  return { ...bill, components, dependencies }
}

if (import.meta.main) {
  const bill = billOfMaterials()
  process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`)
  for (const { name, version, licenses = [] } of bill.components) {
    if (licenses.length > 0 && licenses.every(({ license }) => PERMISSIVE.has(license?.id ?? ''))) continue
    console.error(`${name} ${version}: ${JSON.stringify(licenses)} is not among the permissive ones in local/sbom.ts`)
    process.exitCode = 1
  }
}
