import type { ClaimIndex } from '@plant-store/api/src/claim-index/claim-index.ts'

/** The tail of a claim index whose test delivers the records itself. */
export const noTail: ClaimIndex['tail'] = {
  start() {},
  assigned: () => undefined,
  problems: () => [],
  undecodable: () => [],
  verified: Promise.resolve(),
  reloadCheckpoints() {},
  updateEnds() {},
  lag: () => undefined,
  close: async () => {},
}
