import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { compileFunction } from 'node:vm'

// biome-ignore lint/suspicious/noExplicitAny: what a module of another package exports.
type Exports = any
type Module = { exports: Exports }

const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']

/**
 * The CommonJS modules of one package, loaded once more for those alone who ask here. They share nothing with those
 * that `require` gives to others; packages that they require themselves are the usual ones. Throws when the package is of
 * another version than the one that is known here.
 */
export function createPrivateModules(manifest: string, version: string) {
  const root = dirname(manifest)
  const found = JSON.parse(readFileSync(manifest, 'utf8'))
  if (found.version !== version) {
    throw new Error(
      `${found.name} ${found.version} is installed, but parts of ${version} are replaced here: install ${version}, ` +
        'or compare each part that is replaced with the new one before the version is changed here',
    )
  }
  const loaded = new Map<string, Module>()

  function loadFile(file: string): Exports {
    const known = loaded.get(file)
    if (known !== undefined) return known.exports
    const module: Module = { exports: {} }
    // Before it runs: modules may require each other in a circle.
    loaded.set(file, module)
    const source = readFileSync(file, 'utf8')
    if (file.endsWith('.json')) module.exports = JSON.parse(source)
    else run(file, source, module)
    return module.exports
  }

  function run(file: string, source: string, module: Module): void {
    const usual = createRequire(file)
    const require = (name: string) => {
      const found = usual.resolve(name)
      return found.startsWith(root + sep) ? loadFile(found) : usual(name)
    }
    const compiled = compileFunction(source, PARAMETERS, { filename: file })
    compiled.call(module.exports, module.exports, require, module, file, dirname(file))
  }

  return {
    /** What a file of the package exports. */
    load: (path: string): Exports => loadFile(join(root, path)),

    /** Has a file export this to those that are loaded from now on. */
    replace(path: string, exports: unknown): void {
      loaded.set(join(root, path), { exports })
    },
  }
}
