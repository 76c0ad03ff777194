import { PreconditionError } from '../../runtime/failures.ts'
import type { FirstClaims } from './first-claims.ts'

/**
 * Keeps the first claims in a file of SQLite: a start goes on where the last one ended. Each consumer needs a file of its
 * own, on a disk of its machine; 15 to 25 bytes a plant. Lost or deleted, it is made anew from the log. A file of another
 * topic, one that is damaged or that another process uses, is an error that says what to do.
 */
export function inFile(path: string): FirstClaims {
  return {
    async open({ topic, partitions }) {
      // SQLite would take a file that is gone with the process.
      if (path === '') throw new PreconditionError('inFile needs the path of a file')
      // Only now: Node 24 warns of each process that loads it.
      const { openClaimFile } = await import('./claim-file.ts')
      const file = openClaimFile({ path, topic, partitions })
      return {
        checkpointOf: async (partition) => file.checkpointOf(partition),
        firstAmong: async (partition, records, next) => file.firstAmong(partition, records, next),
        close: async () => file.close(),
      }
    },
  }
}
