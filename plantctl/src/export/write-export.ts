import type { Offset } from '@plant-store/shared/plant/position.ts'
import type { CliContext } from '../command.ts'
import type { Store } from '../store/open-store.ts'
import { counted } from '../terminal/quantity.ts'
import { createExport } from './export.ts'
import { openOutputFile } from './output-file.ts'

type Written = ReturnType<typeof createExport>

/** Writes an export to a file, whole or not at all, or else to stdout; `fill` tells before which offsets it ends. */
export async function writeExport(
  { topic }: Pick<Store, 'topic'>,
  { out, tell }: CliContext,
  output: string | undefined,
  fill: (written: Written) => Promise<readonly Offset[]>,
): Promise<void> {
  const file = output === undefined ? undefined : await openOutputFile(output)
  try {
    const written = createExport(file?.write ?? out)
    const summary = await written.finish(topic, await fill(written))
    await file?.finish()
    const unreadable =
      summary.unreadable === 0 ? '' : `, ${summary.unreadable} of them not readable by this release`
    tell(`${counted(summary.plants, 'plant')}${unreadable}; SHA-256 ${summary.sha256}\n`)
  } catch (error) {
    await file?.abandon()
    throw error
  }
}
