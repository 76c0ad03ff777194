import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDescription } from './default-description.ts'
import { root } from './places.mjs'

// Writes docs/openapi.yaml, which a test holds to be what the service says.

writeFileSync(join(root, 'docs', 'openapi.yaml'), await defaultDescription())
