import { bug, type InjectedBug, rare } from './injected-bug.ts'

const FILL = 'plantctl/src/rebuild/fill.ts'
const FINISH = 'plantctl/src/rebuild/finish.ts'
const COMPARISON = 'plantctl/src/verify/generation-comparison.ts'
const REBUILD = 'plantctl/src/rebuild/rebuild.ts'
const COMPARE = 'plantctl/src/verify/compare.ts'
const IN_REDIS = 'tests/simulation/redis.ts'
const FIRST_WINS_IN_REDIS = 'tests/simulation/redis-scripts.ts'
const GENERATIONS_IN_REDIS = 'tests/simulation/generation-scripts.ts'

/** For the rules of a rebuild, and the branches of what decides there. */
export const REBUILD_BUGS: readonly InjectedBug[] = [
  bug('a generation gets the name of an earlier one', FILL, [
    "generations.startFilling(partition, [-freshName()-]{+'the new one'+})",
  ]),
  rare(72, 'a dropped generation is recreated', FIRST_WINS_IN_REDIS, [
    "[-if (call.generation !== '') return GONE\n-]",
    "generation = {+call.generation === '' ? +}beginLive(keys, call.freshGeneration, partitions){+ : emptyGeneration(partitions)\n    if (call.generation !== '') keys.generations.set(call.generation, generation)+}",
  ]),
  bug('a generation is verified before its mark', FINISH, [
    "[-const marked = await generations.mark(partition, generation, mark)\n      if (marked.is !== 'marked') return undefined\n-]",
    '[- || state.mark !== mark-]) return undefined',
    "[-onPhase('switching')-]{+await generations.mark(partition, generation, mark)+}\n",
  ]),
  bug('a mark is not fresh', FINISH, ["const mark = [-freshMark()-]{+'the mark'+}"]),
  rare(106, 'the switch does not demand the mark', GENERATIONS_IN_REDIS, [
    "[-if (generation.mark !== mark) return { is: 'unmarked', mark: generation.mark }\n-]",
  ]),
  rare(1568, 'the switch replaces an unexpected live generation', GENERATIONS_IN_REDIS, [
    "[-if (live !== expectedLive) return { is: 'changed', live }\n-]",
  ]),
  bug('the switch accepts a generation behind the live one', GENERATIONS_IN_REDIS, [
    "[-if (reached < toReach) return { is: 'behind', checkpoint: reached, live: toReach }\n-]",
  ]),
  rare(33, 'the switch replaces a newer fold version', GENERATIONS_IN_REDIS, [
    "[-if (fold > FOLD_VERSION) refuse('FOLD', String(fold))\n-]",
  ]),
  rare(160, 'a rebuild starts beside a newer fold version', GENERATIONS_IN_REDIS, [
    'if (generation !== undefined && generation.fold [-> FOLD_VERSION-]{+=== Infinity+})',
  ]),
  rare(61, 'a rebuild resumes the generation of an older fold version', GENERATIONS_IN_REDIS, [
    'begun?.[-fold === FOLD_VERSION && begun.-]partitions',
  ]),
  bug('a live generation is dropped', GENERATIONS_IN_REDIS, [
    "[-if (keys.live === name) return { is: 'live' }\n  -]if (keys.filling",
  ]),
  rare(36, 'left-over generations are not dropped', REBUILD, [
    "const result = [-await generations.drop(partition, generation)-]{+{ is: 'filling' }+}",
  ]),
  bug('a projector applies to a generation that is no longer live', IN_REDIS, [
    "applyScript(keys, { generation: [-''-]{+(seen[partition] ||= keys.live)+},",
    '  {+const seen: string[] = []\n  +}const keysOf = ',
  ]),
  bug('a look-up reads a generation that is no longer live', IN_REDIS, [
    'lookUpScript({+{ ...+}keysOf(partition), {+live: (seen[partition] ||= keysOf(partition).live) }, +}ids)',
    '  {+const seen: string[] = []\n  +}const keysOf = ',
  ]),
  rare(244, 'nothing is compared', COMPARISON, ['return [-findings.listed-]{+[]+}']),
  rare(3526, 'entries that are read back count as equal', COMPARE, [
    '[-!sameSpan(stored, plants.span(from, length))-]{+stored === undefined+}',
  ]),
  rare(3526, 'entries are not compared', COMPARE, ["[-report({ what: 'entryChanged', id, ...difference })-]{+{}+}"]),
  rare(1267, 'a missing entry is not reported', COMPARE, ['[-report({ what, id, expected: formatClaim(expected) })-]']),
  rare(24703, 'the order is not compared', COMPARE, ['before.offset [-> claim.offset-]{+=== Infinity+}']),
  rare(3323, 'parked records are not compared', COMPARE, ["&& found [-!== String(reason)-]{+=== ''+})"]),
  rare(10138, 'counts are not compared', COMPARISON, [
    '[-  compareMeta({ reached: checkpoint, end: after(upTo), partitions, mark: state.mark })\n-]',
  ]),
  bug('the counts of other slices are left out', COMPARISON, ['{+{ ...+}countsOf(otherFold){+, voids: 0 }+}']),
  rare(151, 'a difference counts in spite of a failover', FINISH, [
    'if ([-found !== mark || fill.generation() !== generation) return undefined\n    if (!isDoubted-]{+false as boolean+}) {',
  ]),
  rare(143, 'the fold continues where the generation was left', FILL, [
    'filled = started.checkpoint{+\n      if (folded.checkpoint.offset < filled.offset) folded.checkpoint = filled+}\n',
  ]),
  rare(20023, 'a rebuild does not seek back when its generation falls back', FINISH, [
    '    await fill.refresh()\n    [-refollow(partition)\n    -]return false',
  ]),
]
