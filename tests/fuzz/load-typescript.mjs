import { stripTypeScriptTypes } from 'node:module'

// A hook of Node's module loader, below that of Jazzer.js: the fuzzer adds its probes to JavaScript only.

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  if (loaded.format !== 'module-typescript') return loaded
  const source = Buffer.from(/** @type {Uint8Array} */ (loaded.source)).toString()
  return { ...loaded, format: 'module', source: stripTypeScriptTypes(source) }
}
