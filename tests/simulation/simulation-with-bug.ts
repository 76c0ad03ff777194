import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { type InjectedBug, injectBug, pathOf } from './injected-bug.ts'

/** The modules that import a module, by URL. */
const importersOf = new Map<string, Set<string>>()
let renewed: ReadonlySet<string> = new Set()
let copies = 0

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    if (renewed.has(resolved.url)) return { ...resolved, url: `${resolved.url}?copy=${copies}` }
    const importers = importersOf.get(resolved.url) ?? new Set()
    importersOf.set(resolved.url, importers.add(context.parentURL ?? ''))
    return resolved
  },
})

/**
 * The simulation with a bug. Loads only the file of the bug and what imports it, directly or not: the other modules are
 * the same for all bugs of a thread, because loading all of them takes longer than most searches.
 */
export async function simulationWith(bug: InjectedBug): Promise<typeof import('./play.ts')> {
  await import('./play.ts')
  renewed = withImporters(pathToFileURL(pathOf(bug)).href)
  copies++
  const hooks = injectBug(bug)
  try {
    return await import(`./play.ts?copy=${copies}`)
  } finally {
    hooks.deregister()
    renewed = new Set()
  }
}

function withImporters(url: string): Set<string> {
  const found = new Set([url])
  for (const each of found) for (const importer of importersOf.get(each) ?? []) found.add(importer)
  return found
}
