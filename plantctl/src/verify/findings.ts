import type { Difference } from './difference.ts'

/** The differences found, as many as are kept, and how many more there are. */
export type Findings = { kept: Difference[]; more: number }

/** So many differences are kept at most: who has more has to rebuild, whatever they are. */
export const DIFFERENCES_KEPT_MAX = 100_000

export function noFindings(): Findings {
  return { kept: [], more: 0 }
}

export function note(findings: Findings, difference: Difference, keptMax = DIFFERENCES_KEPT_MAX): void {
  if (findings.kept.length < keptMax) findings.kept.push(difference)
  else findings.more++
}

/** Adds what another comparison found. */
export function noteAll(findings: Findings, { kept, more }: Findings, keptMax = DIFFERENCES_KEPT_MAX): void {
  for (const difference of kept) note(findings, difference, keptMax)
  findings.more += more
}

export function countOf({ kept, more }: Findings): number {
  return kept.length + more
}
