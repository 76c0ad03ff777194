import { mkdirSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

// Generates the types for openapi-fetch, with ids as bigints: the command line of openapi-typescript makes them numbers.

const description = new URL('../../docs/openapi.yaml', import.meta.url)
const bigint = ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword)
const types = await openapiTS(description, { transform: ({ format }) => (format === 'int64' ? bigint : undefined) })
mkdirSync('generated', { recursive: true })
writeFileSync('generated/openapi.d.ts', astToString(types))
