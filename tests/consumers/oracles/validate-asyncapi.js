import { fromFile, Parser } from '@asyncapi/parser'

// Prints the version of an AsyncAPI document and what its own parser has to say against it, as JSON.

const SEVERITIES = ['error', 'warning', 'information', 'hint']

const { document, diagnostics } = await fromFile(new Parser(), process.argv[2]).parse()
const problems = diagnostics.map(({ severity, code, path, message }) => ({
  severity: SEVERITIES[severity],
  code,
  at: path.join('.'),
  message,
}))
console.log(JSON.stringify({ version: document?.version(), problems }))
