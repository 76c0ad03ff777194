import { fromFile, Parser } from '@asyncapi/parser'

// Prints the version of an AsyncAPI document and what its own parser has to say against it, as JSON.

const { document, diagnostics } = await fromFile(new Parser(), process.argv[2]).parse()
console.log(JSON.stringify({ version: document?.version(), diagnostics }))
