import { execFileSync } from 'node:child_process'
import { root } from './places.mjs'

// Prints the software bill of materials of what is shipped, in CycloneDX.

const TIMEOUT_MS = 60_000
const MAX_BYTES = 16 * 1_048_576
/** npm's mark of packages that only development needs. */
const DEVELOPMENT = 'cdx:npm:package:development'

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
  const options = { cwd: root, timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES }
  const bill: Bill = JSON.parse(execFileSync('npm', ['sbom', '--sbom-format=cyclonedx'], options).toString())
  const isShipped = ({ properties = [] }: Component) =>
    properties.every(({ name, value }) => name !== DEVELOPMENT || value !== 'true')
  const unshipped = new Set(bill.components.filter((one) => !isShipped(one)).map((one) => one['bom-ref']))
  const dependencies = bill.dependencies
    .filter(({ ref }) => !unshipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => !unshipped.has(other)) }))
  return { ...bill, components: bill.components.filter(isShipped), dependencies }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(billOfMaterials(), null, 2)}\n`)
