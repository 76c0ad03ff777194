import { billOfMaterials } from './sbom.ts'

// Fails when a package that the services, plantctl or the consumer library are shipped with has a licence that is not
// permissive, or none.

const PERMISSIVE = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD'])

const others = billOfMaterials().components.filter(
  ({ licenses = [] }) => licenses.length === 0 || licenses.some(({ license }) => !PERMISSIVE.has(license?.id ?? '')),
)
for (const { name, version, licenses } of others) {
  const found = licenses === undefined ? 'no licence' : JSON.stringify(licenses)
  console.error(`${name} ${version} has ${found}, which is not among the permissive ones in local/licences.ts`)
}
process.exitCode = others.length === 0 ? 0 : 1
