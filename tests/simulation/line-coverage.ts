import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = new URL('../..', import.meta.url)

/** The deciding code, which the simulation should reach. */
const DECIDING = [
  'shared/src/protocol/checkpoint.ts',
  'shared/src/protocol/list.ts',
  'shared/src/protocol/coverage.ts',
  'shared/src/protocol/window.ts',
  'shared/src/protocol/packed-claims.ts',
  'shared/src/protocol/plants-table.ts',
  'shared/src/protocol/first-wins.ts',
  'shared/src/event-log/partition-cursors.ts',
  'shared/src/event-log/lanes.ts',
  'services/api/src/create-plant/create-plant.ts',
  'services/api/src/create-plant/look-ups.ts',
  'services/api/src/read-plants/list-plants.ts',
  'services/api/src/read-plants/read-plant.ts',
  'services/api/src/read-plants/retry-until-covered.ts',
  'services/api/src/claim-index/claim-index.ts',
  'services/api/src/claim-index/first-claims.ts',
  'services/api/src/claim-index/look-up-together.ts',
  'services/projector/src/projector.ts',
  'plantctl/src/backup/add-to-backup.ts',
  'plantctl/src/backup/repartition.ts',
  'plantctl/src/backup/restore-log.ts',
  'plantctl/src/rebuild/fill.ts',
  'plantctl/src/rebuild/finish.ts',
  'plantctl/src/rebuild/group.ts',
  'plantctl/src/rebuild/rebuild.ts',
  'plantctl/src/verify/generation-comparison.ts',
  'plantctl/src/verify/compare.ts',
  'plantctl/src/verify/slice.ts',
]

export type Coverage = { file: string; lines: number; reached: number; unreached: string[] }

/** Comments, types, and assertions, which are reached only by a defect. */
const NO_CODE = /^(\/?\*|\/\/|import|export type|type )|throw new RangeError/

/** The lines of the deciding code that `run` reaches. The code must not have been imported before. */
export async function measureCoverage(run: () => Promise<void>): Promise<Coverage[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await run()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return DECIDING.map((file) => {
    const path = fileURLToPath(new URL(file, root))
    const found = result.find(({ url }) => url === pathToFileURL(path).href)
    const ranges = (found?.functions ?? []).flatMap(({ ranges }) => ranges)
    return coverageOf(file, readFileSync(path, 'utf8'), ranges)
  })
}

type Range = { startOffset: number; endOffset: number; count: number }

/** Node strips types in place, so offsets in the running code are offsets in the file. */
function coverageOf(file: string, source: string, ranges: readonly Range[]): Coverage {
  const reachedAt = Array.from({ length: source.length }, () => false)
  // Inner ranges follow the ranges that contain them.
  for (const { startOffset, endOffset, count } of ranges) reachedAt.fill(count > 0, startOffset, endOffset)
  const unreached: string[] = []
  let lines = 0
  let offset = 0
  for (const [n, line] of source.split('\n').entries()) {
    const isCode = /^[^/*]*[\w)]/.test(line.trim()) && !NO_CODE.test(line.trim())
    if (isCode) {
      lines++
      const isReached = !reachedAt
        .slice(offset, offset + line.length)
        .some((reached, at) => !reached && /\w/.test(line.charAt(at)))
      if (!isReached) unreached.push(`${n + 1}: ${line.trim()}`)
    }
    offset += line.length + 1
  }
  return { file, lines, reached: lines - unreached.length, unreached }
}
