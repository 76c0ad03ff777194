import type { Surroundings } from './command.ts'
import { grouped } from './quantity.ts'

const DRAW_EVERY_MS = 200
const ERASE_LINE = '\r\x1b[K'

/** Tells a person how many records of the log were read; a script sees nothing of it. */
export function createReadingProgress({ tell, isWatched }: Pick<Surroundings, 'tell' | 'isWatched'>) {
  let read = 0
  let drawnAt = Number.NEGATIVE_INFINITY
  return {
    onRead(records: number): void {
      read += records
      const now = performance.now()
      if (!isWatched || now - drawnAt < DRAW_EVERY_MS) return
      drawnAt = now
      tell(`${ERASE_LINE}${grouped(read)} records of the log read`)
    },

    /** Takes the line away. */
    end(): void {
      if (isWatched) tell(ERASE_LINE)
    },
  }
}
