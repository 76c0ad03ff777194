const LISTED_MAX = 8

/** `partition 3`, `partitions 0-5, 8`; only the first of very many. */
export function partitionsNamed(partitions: readonly number[]): string {
  const spans = spansOf(partitions)
  const shown = spans
    .slice(0, LISTED_MAX)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`))
  const more = spans.length > LISTED_MAX ? ', …' : ''
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${shown.join(', ')}${more}`
}

function spansOf(partitions: readonly number[]): [first: number, last: number][] {
  const spans: [number, number][] = []
  for (const partition of [...partitions].sort((a, b) => a - b)) {
    const span = spans.at(-1)
    if (span !== undefined && partition === span[1] + 1) span[1] = partition
    else spans.push([partition, partition])
  }
  return spans
}
