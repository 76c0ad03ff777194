import { BACKUP_BUGS } from './injected-backup-bugs.ts'
import { bug, type InjectedBug, rare } from './injected-bug.ts'
import { REBUILD_BUGS } from './injected-rebuild-bugs.ts'

const protocol = (name: string) => `shared/src/protocol/${name}.ts`
const EVENT = 'shared/src/plant/plant-created.ts'
const FIRST_WINS_IN_REDIS = 'tests/simulation/redis-scripts.ts'
const POSITIONS = 'shared/src/event-log/partition-cursors.ts'
const PRECONDITIONS = 'shared/src/stores/preconditions.ts'
const PROJECTOR = 'services/projector/src/projector.ts'
const TABLE_WRITER = 'shared/src/table/table-writer.ts'
const CHUNKS = 'shared/src/read-model/apply.ts'
const CLAIM_INDEX = 'services/api/src/claim-index/claim-index.ts'
const CREATE = 'services/api/src/create-plant/create-plant.ts'
const DEADLINE = 'services/api/src/create-plant/deadline.ts'
const FIRST_CLAIMS = 'services/api/src/claim-index/first-claims.ts'
const LOOK_UPS = 'services/api/src/create-plant/look-ups.ts'
const LANES = 'shared/src/event-log/lanes.ts'
const READ = 'services/api/src/read-plants/read-plant.ts'
const LIST = 'services/api/src/read-plants/list-plants.ts'

/** For the rules of docs/explanation/write-protocol.md and the branches of the code that decides. */
export const INJECTED_BUGS: readonly InjectedBug[] = [
  // The first claim.
  bug('the last claim wins in Redis', FIRST_WINS_IN_REDIS, [
    'if ([-first === undefined-]{+true+}) {\n      generation.plants',
  ]),
  bug('an unreadable claim gets no entry', FIRST_WINS_IN_REDIS, [
    'if (claim !== undefined{+ && parked === undefined+}) {\n    const first',
  ]),
  bug('Redis applies records that do not follow its checkpoint', FIRST_WINS_IN_REDIS, [
    'if ([-generation.checkpoint.offset !== expected.offset-]{+false as boolean+}) {',
  ]),
  bug('an emptied Redis applies records that start later', FIRST_WINS_IN_REDIS, [
    '[-if (expected.offset !== BEFORE_FIRST) return STALE_AT_START-]',
  ]),
  rare(431, 'a generation without its plants counts as whole', FIRST_WINS_IN_REDIS, [
    '[-(order.length === plantCount && plants.has(order[0] as PlantId))-]{+order.length === plantCount+}',
  ]),
  rare(250, 'a generation without its order counts as whole', FIRST_WINS_IN_REDIS, [
    '[-(order.length === plantCount && plants.has(order[0] as PlantId))-]{+plants.size === plantCount+}',
  ]),
  bug('the last claim wins in the window', protocol('window'), [
    '[-|| claims.has(claim.id)) return undefined-]{+) return undefined\n      if (claims.has(claim.id)) while (claims.count() > 0) claims.dropOldest()+}',
  ]),
  bug('the verdict is always created', protocol('coverage'), [
    "[-own === first.eventId ? -]'created'[- : 'duplicate'-]",
  ]),
  bug('the verdict is always a duplicate', protocol('coverage'), [
    "[-own === first.eventId ? 'created' : -]'duplicate'",
  ]),
  bug('the acknowledgement decides', CREATE, [
    "else firstClaim.undecided(){+\n      if (written.is === 'appended') resolve({ is: 'decided', first: { ...claim, offset: written.offset ?? (0 as Offset) } })+}\n",
  ]),

  // The table.
  bug('a void claim becomes a row', protocol('plants-table'), [
    '[-if (first.offset < claim.offset) continue\n    if (first.eventId !== claim.eventId) return undefined-]',
  ]),
  rare(31, 'a repeated claim becomes a row', protocol('plants-table'), [
    'if (first.offset < claim.offset{+ && first.eventId !== claim.eventId+}) continue',
  ]),
  rare(354, 'a claim that the read model does not have becomes a row', protocol('plants-table'), [
    'if ([-claim.offset > checkpoint || -]first === undefined || first.offset > claim.offset) [-return undefined-]{+{\n      rows.push(claim)\n      continue\n    }+}',
  ]),
  rare(70, 'a row that the read model does not know yet is left out', TABLE_WRITER, [
    '[-left.delete(state.partition)-]',
  ]),
  rare(70, 'a partition waits for ever for rows that are not known', TABLE_WRITER, [
    '[-for (const state of waiting) state.isBusy = false-]',
  ]),
  bug('a partition that was caught up is written no longer', TABLE_WRITER, [
    'left.delete(partition)[-\n    state.isBusy = false-]',
  ]),
  bug('the last claim of an id gives its row the plant', protocol('plants-table'), [
    'const plant = [-claim-]{+claims.findLast(({ id }) => id === claim.id)?+}.plant ?? first.plant',
  ]),
  bug('a new writer of the table starts at the checkpoint of the read model', TABLE_WRITER, [
    'state.written = [-writtenUpTo(rows.get(state.partition))-]{+state.target+}',
  ]),
  bug('a new writer of the table starts one row too late', protocol('plants-table'), [
    '{ offset: {+(+}latest.offset{+ + 1) as Offset+}, eventId: latest.eventId }',
  ]),
  rare(724, 'queued records are written although others are missing before them', protocol('plants-table'), [
    '[-if (from.offset > written.offset) return undefined-]',
  ]),
  bug('the records before the queued ones are read one offset too late', TABLE_WRITER, [
    '{ from: [-written-]{+{ ...written, offset: after(written.offset) }+}, end: after(end as Offset) }',
  ]),
  rare(1640, 'a failed append to the table counts as written', TABLE_WRITER, [
    'const failures = {+(+}await appendEach(sent, channel){+) && new Map()+}',
  ]),

  // The acknowledgement as a delivery.
  bug('an acknowledgement beyond the known records is added', CLAIM_INDEX, [
    'if (offset [-!==-]{+=== undefined || offset <+} window(partition).next) {',
  ]),
  bug('an acknowledgement is added one offset too early', CLAIM_INDEX, [
    '{+if (offset === after(window(partition).next)) offset = window(partition).next\n      +}if (offset !== window(partition).next) {',
  ]),
  rare(27, 'what the tail has delivered is added again', CLAIM_INDEX, [
    '{+if (offset !== undefined && offset < window(partition).next) offset = window(partition).next\n      +}if (offset !== window(partition).next) {',
  ]),
  bug('the tail leaves out what is not known yet', CLAIM_INDEX, ['if (record.offset <{+=+} window.next) continue']),
  bug('the tail delivers again what was acknowledged', CLAIM_INDEX, ['[-if (record.offset < window.next) continue-]']),
  bug('the tail rests permanently', CLAIM_INDEX, [
    'const ms = [-isLogShared ? 2 * READINGS_FOR_EACH_REST * READ_CHECKPOINTS_EVERY_MS : TAIL_REST_MS-]{+Infinity+}',
    '[-if (!isLogShared || readings % READINGS_FOR_EACH_REST === 0) rest?.wake.abort()-]',
  ]),

  // The tail skips what the read model has, and goes back when the read model falls back.
  bug('the tail skips an offset that the read model does not have', CLAIM_INDEX, [
    'windows[partition]?.continueAt(after({+after(+}checkpoint.offset)){+)+}',
  ]),
  rare(4045, 'a window that skips keeps its start', protocol('window'), [
    '      [-claims.clear()\n      -]{+if (offset < start) +}start = offset\n',
  ]),
  rare(4556, 'a window that skips keeps its claims', protocol('window'), [
    '      [-claims.clear()\n      -]start = offset\n',
  ]),
  rare(237, 'going back lowers the read floor', CLAIM_INDEX, [
    'rewoundTo[partition] = checkpoint.offset{+\n    readFloor.of = () => checkpoint.offset+}\n',
  ]),
  bug('the tail does not go back', CLAIM_INDEX, [
    '    const reader = [-tail.assigned()?.get(partition)-]{+undefined+}\n',
  ]),
  bug('the tail sleeps while no projector runs', CLAIM_INDEX, [
    '    {+if (isLogShared) return\n    +}awakeUntil = time.now()',
    '[-if (!isLogShared || readings % READINGS_FOR_EACH_REST === 0) rest?.wake.abort()-]',
    ' ? [-2 * READINGS_FOR_EACH_REST * READ_CHECKPOINTS_EVERY_MS-]{+Infinity+} :',
    'isLogShared {+||+}= areRead && others > sharedLogRecordsPerS',
  ]),

  bug('a record of an unknown version claims nothing', EVENT, [
    '[-claim: { offset, id, eventId, plant: undefined }, -]parked: PARKED.unknownVersion',
  ]),
  bug('a record with an unreadable payload claims nothing', EVENT, [
    '{ offset, [-claim, -]parked: PARKED.unreadablePayload }',
  ]),
  bug('a record in the wrong partition claims its id', EVENT, [
    '[-if (partitionOf(key, partitions) !== partition) return { offset, parked: PARKED.wrongPartition }-]',
  ]),
  bug('an id in another spelling is a claim', EVENT, ["parsePlantId({+String(Number(+}key.toString('latin1')){+))+}"]),
  bug('a record without an event id claims its id', EVENT, [
    "{+(+}ceId === undefined ? undefined : readEventId(ceId){+) ?? ('00000000-0000-4000-8000-000000000000' as EventId)+}",
  ]),
  bug('a record of another type claims its id', EVENT, [
    '[-if (!isHeader(record.headers.ce_type, TYPE)) return { offset: record.offset, parked: PARKED.otherType }-]',
  ]),

  // The claim index.
  rare(24, 'a coverage gap is not detected', protocol('coverage'), ['[-window.start > after(checkpoint)-]{+false+}']),
  rare(24, 'a coverage gap of one offset is not detected', protocol('coverage'), [
    'window.start > after([-checkpoint-]{+after(checkpoint)+})',
  ]),
  bug('a coverage gap is reported where there is none', protocol('coverage'), [
    'window.start >{+=+} after(checkpoint)',
  ]),
  rare(126, 'the window decides in spite of a gap', protocol('coverage'), [
    "{+const first = window.firstClaim(id)\n  +}if ({+first === undefined && +}hasCoverageGap(window, checkpoint)) return { is: 'unknown' }[-\n  const first = window.firstClaim(id)-]",
  ]),
  bug('the entry in Redis is ignored', protocol('coverage'), [
    "[-if (entry !== undefined) return { is: 'claimed', first: entry }-]",
  ]),
  rare(25, 'the reach ignores a gap', protocol('coverage'), [
    'return [-hasCoverageGap(window, checkpoint) || -]checkpoint > tail ? checkpoint : tail',
  ]),
  bug('the reach is the tail even if Redis is ahead', protocol('coverage'), [
    'return hasCoverageGap(window, checkpoint) [-|| checkpoint > tail -]? checkpoint : tail',
  ]),
  rare(244, 'a window that has moved on decides', FIRST_CLAIMS, [
    'entry, checkpoint: [-each.checkpoint-]{+Infinity as Offset+} }',
  ]),
  rare(69878, 'the window start is read before the look-up', CREATE, [
    '{+const { start } = claimIndex.window(partition)\n      +}const found = await lookUps.find',
    '{+const now = claimIndex.window(partition)\n      +}const known = firstClaimOf(id, { entry, checkpoint }, [-claimIndex.window(partition)-]{+{ start, next: now.next, firstClaim: now.firstClaim }+})',
  ]),
  rare(1001, 'the window start is read before the look-up of a read', READ, [
    '{+const { start } = claimIndex.window(partition)\n    +}const lookUps =',
    'const [-window-]{+now+} = claimIndex.window(partition){+\n    const window = { start, next: now.next, firstClaim: now.firstClaim }+}',
  ]),

  // The window.
  rare(24, 'a full window does not move its start', protocol('window'), ['[-start = after(-]claims.dropOldest()[-)-]']),
  rare(48, 'a window that drops claims does not move its start', protocol('window'), ['[-      start = bound\n-]']),
  rare(877, 'a full window pauses the tail', protocol('window'), [
    '      {+if (claims.bytes() > maxBytes / 2) return undefined\n      +}if (offset < next) throw',
  ]),
  rare(95, 'a window without bounds is never full', protocol('window'), [
    '[-while (claims.bytes() > maxBytes) start = after(claims.dropOldest())-]{+if (claims.bytes() > maxBytes) while (claims.count() > 0) claims.dropOldest()+}',
  ]),
  rare(886, 'a window drops one claim too many', protocol('window'), ['claims.oldest() <{+=+} bound)']),
  bug('the window does not pass control records', protocol('window'), ['[-if (offset > next) next = offset-]']),

  // The readFloor and positions.
  rare(112, 'the read floor is never raised', protocol('coverage'), [
    '[-if (offset > (floors[partition] as Offset)) floors[partition] = offset-]',
  ]),
  bug('the read floor does not start at the end of the log', CLAIM_INDEX, [
    'ends.map([-(end) => (end - 1) as Offset-]{+() => -1 as Offset+})',
  ]),
  rare(775, 'a create does not raise the read floor', CREATE, [
    '[-claimIndex.readFloor.raise(partition, first.offset)-]',
  ]),
  rare(1229, 'a read does not raise the read floor', READ, ['[-    claimIndex.readFloor.raise(partition, offset)\n-]']),
  bug('a plant is reported absent below the read floor', READ, [
    "return [-reachesFloor ? -]{ is: 'noSuchPlant' }[- : undefined-]",
  ]),
  bug("the client's token is ignored", READ, ['>= [-offset-]{+(p === partition ? BEFORE_FIRST : offset)+}\n']),
  bug('a token for another partition is ignored', READ, [
    '>= [-offset-]{+(p === partition ? offset : BEFORE_FIRST)+}\n',
  ]),
  rare(37, 'a read with unknown result reports an absent plant', READ, [
    "if (known.is === 'unknown') return [-undefined-]{+{ is: 'noSuchPlant' }+}",
  ]),

  // Lists.
  rare(396, 'a list continues over a gap', protocol('list'), [
    'if (claims.length === count[- || hasCoverageGap(window, checkpoint)-]) return',
  ]),
  rare(2005, 'a list includes void claims', protocol('list'), [
    'candidates.claims[-.filter((_, n) => isFirst(lookedUp.entries[n], listed.checkpoint))-]',
  ]),
  rare(330, 'a list leaves out claims that Redis has applied in the meantime', protocol('list'), [
    'entry === undefined[- || entry.offset >= after(checkpoint)-]',
  ]),
  rare(39229, 'a Redis that fell back decides which claims of a list are void', protocol('list'), [
    'const isDecided = [-lookedUp.checkpoint >= listed.checkpoint-]{+true as boolean+}',
  ]),
  bug('a list starts again where Redis ends', protocol('list'), [
    'created.slice([-Math.max(0, from - listed.plants)-]{+0+}, ',
  ]),
  bug('a list omits the first plant after Redis', protocol('list'), [
    'window.claimsAfter([-checkpoint-]{+after(checkpoint)+}, max)',
  ]),
  rare(666, 'a list ends at the limit of candidates', protocol('list'), ['[-candidates.isComplete && -]']),
  rare(88, 'a list ends below the read floor', protocol('list'), ['[- && reach >= required.readFloor-]']),
  rare(41648, 'a list continues in a partition below the token', protocol('list'), [
    '[-if (reach < required.token) return { claims: [], isEnd: false }-]',
  ]),
  bug('a list checks the token only in the partitions that it reads', LIST, [
    '[-if (!(await reachesAll(token))) return undefined-]',
  ]),
  rare(3972, "the window start is read before the read model's list", LIST, [
    '{+const starts = spans.map(({ partition }) => claimIndex.window(partition).start)\n    +}const { results, ...failed } =',
    '{+{ start: starts[n] as Offset, next: +}claimIndex.window(span.partition){+.next, firstClaim: claimIndex.window(span.partition).firstClaim, claimsAfter: claimIndex.window(span.partition).claimsAfter }+}',
  ]),
  rare(391, 'a list ends at the last partition', LIST, [
    '[-const { length } = cursor.listed\n    -]const partitions = cursor.listed{+.slice(cursor.partition)+}.map((_, n) => [-((cursor.partition + n) % length)-]{+(cursor.partition + n)+} as Partition){+\n    const { length } = partitions+}',
  ]),
  bug('a list ends where the next plant is not known', LIST, [
    "show({ is: 'page', claims, shown[-, next: { partition, listed }-] })",
  ]),
  bug('a page before the end is empty', LIST, ['[-claims.length === 0 ? undefined : -]show(']),
  rare(976, 'a list does not raise the read floor', LIST, ['[-claimIndex.readFloor.raise(partition, offset)-]{+{}+}']),

  // Create.
  rare(277, 'a keyed create is a duplicate as soon as its id is in the window', CREATE, [
    'if ([-!keyed && -]claimed !== undefined) return verdictOn(claimed)',
  ]),
  bug('a waiter gets the outcome of its owner', CREATE, [
    "if (resolution.is === 'decided') return [-verdictOn(resolution.first)-]{+{ is: 'created', partition, offset: resolution.first.offset }+}\n      if (deadline",
  ]),
  bug("a keyed waiter at its deadline is 'not written'", CREATE, [
    "{ is: [-keyed ? 'outcomeUnknown' : -]'notWritten' }",
  ]),
  rare(4025, "a waiter forgets that the owner's event may be in the log", CREATE, [
    "[-if (keyed && resolution.is === 'outcomeUnknown') mayBeWritten = true-]",
  ]),
  rare(10235, 'an owner in a coverage gap forgets that its event may be in the log', CREATE, [
    "verdictOn(resolution.first) : {+resolution.is === 'coverageGap' ? resolution : +}failed(resolution)",
  ]),
  bug("every create at its deadline is 'not written'", CREATE, [
    "return resolution ?? [-failureOf(known)-]{+{ is: 'notWritten' }+}",
  ]),
  bug("an acknowledged create at its deadline is 'not written'", LANES, [
    '      entry.[-mayBeWritten = true\n      entry.-]resolve',
  ]),
  bug("a create in flight at its deadline is 'not written'", LANES, [
    'if (entry.[-isInFlight || entry.-]mayBeWritten) return',
  ]),
  rare(224, "a refusal after an attempt without an outcome is 'not written'", LANES, [
    'if (!isForGood[- || entry.mayBeWritten-]) return false',
  ]),
  bug('an attempt without an outcome is forgotten', LANES, [
    "if (result.is === 'unknown') {[-\n      entry.mayBeWritten = true-]\n",
  ]),
  rare(62, 'an append that was given up is sent', LANES, ['      [-dropGivenUp(queue)\n      -]if']),
  rare(56, 'the results of two partitions are exchanged', LANES, [
    'settle(queue, sent, [-results.get(queue.partition)-]{+[...results.values()].at(-1)+} as AppendResult)',
  ]),
  bug('entries in Redis never decide', FIRST_CLAIMS, ['[-    look(each, entry)\n-]']),
  bug('a missing entry decides', FIRST_CLAIMS, [
    '    look(each, entry{+ ?? { id: each.id, eventId: each.eventId, offset: 0 as Offset, plant: undefined }+})\n',
  ]),
  rare(502, 'the checkpoint of a later look-up is taken before its entry', FIRST_CLAIMS, [
    '[-if (checkpoint > each.checkpoint) each.checkpoint = checkpoint-]{+each.checkpoint = Infinity as Offset+}',
  ]),
  rare(466, 'a failed look-up counts as an absent id', LOOK_UPS, [
    'failed: [-(error) => suspect(partition, error)-]{+() => each.found({ entry: undefined, checkpoint: Infinity as Offset })+},',
  ]),
  rare(244, 'the checkpoint of the look-up is forgotten', CREATE, [
    'partition, checkpoint: [-absent.checkpoint-]{+Infinity as Offset+} }',
  ]),
  bug("a keyed create whose event is in the log is 'outcome unknown'", CREATE, [
    "{+if (absent.is === 'decided' && absent.first.eventId === claim.eventId) return { is: 'outcomeUnknown' }\n    +}if (absent.is !== 'absent') return absent",
  ]),

  // Following the log.
  bug('a delivery from beyond the checkpoint is applied', protocol('checkpoint'), [
    "[-if (delivery.requested > after(checkpoint.offset)) return { do: 'seek' }-]",
  ]),
  bug('a delivery is applied again', protocol('checkpoint'), [
    '{+[...+}delivery.records[-.filter(({ offset }) => offset > checkpoint.offset)-]{+]+}',
    "[-if (delivery.last === checkpoint.offset) return { do: 'apply', records: [], checkpoint }-]",
  ]),
  rare(38, 'an earlier delivery sets the checkpoint back', protocol('checkpoint'), [
    "[-if (delivery.last < checkpoint.offset) return { do: 'seek' }-]",
  ]),
  bug('the checkpoint names no event', protocol('checkpoint'), [
    "[-(record?.offset === last && record.claim?.eventId) || -]''",
  ]),
  bug('the checkpoint names an event from before it', protocol('checkpoint'), [
    "[-(record?.offset === last && record.claim?.eventId) || ''-]{+record?.claim?.eventId ?? ''+}",
  ]),
  bug('a log that ends before the checkpoint is followed', protocol('checkpoint'), [
    'return offset < [-end-]{+Infinity+}\n',
  ]),
  bug('the leader is not asked whether the log ends before the checkpoint', POSITIONS, [
    '[-await loadCheckpoints(new Map([[partition, cursor]])).catch(fail)-]',
  ]),
  rare(38, 'an offset that a broker does not have halts its reader', POSITIONS, [
    "await [-loadCheckpoints(new Map([[partition, cursor]])).catch(fail)-]{+halt('the log ends', partition)+}",
  ]),
  rare(32, 'a log without a leader counts as empty', POSITIONS, [
    '[-end === undefined ? undefined : -]outOfBounds(load.value, end{+ ?? (0 as Offset)+})',
  ]),
  bug('the event at the checkpoint is not compared', protocol('checkpoint'), [
    'if ([-found !== eventId-]{+false as boolean+}) {',
  ]),
  bug('reading continues after the checkpoint, not at it', protocol('checkpoint'), [
    'return [-offset === BEFORE_FIRST ? FIRST : offset-]{+after(offset)+}',
  ]),
  rare(11583, 'a delivery after the checkpoint verifies the log', POSITIONS, [
    '[-if (!cursor.verified && delivery.requested > checkpoint.offset)\n      return source.seek(partition, seekOffset(checkpoint))\n-]',
    'if (!cursor.verified[- && delivery.last >= checkpoint.offset-]) {',
  ]),
  bug('a batch that cannot be decoded is skipped', protocol('checkpoint'), [
    "[-if (delivery.undecodable !== undefined) return { do: 'wait', batch: delivery.undecodable }-]",
  ]),
  bug('a batch that cannot be decoded is not fetched again', POSITIONS, [
    "if (decision.do === 'wait') return [-waitFor(partition, cursor, decision.batch)-]{+source.pause(partition)+}",
  ]),
  bug('a failed start is not retried', POSITIONS, ['if (failed.size [-==-]{+>+}= 0) return']),
  rare(553, 'the ends of the log are read before the checkpoints', POSITIONS, [
    '[-const ends = isAnyLoaded ? await source.ends().catch((error: Error) => error) : []-]',
    '{+const ends = await source.ends().catch((error: Error) => error)\n    +}const loads = await Promise.allSettled(',
  ]),
  rare(236, 'at the start the ends of the log are read before the checkpoints', PRECONDITIONS, [
    '[-  const state = await readLog()\n-]',
    '  {+const state = await readLog()\n  +}const metas = await Promise.all(allPartitions(partitions)',
  ]),

  rare(74931471, 'a failure of an earlier assignment pauses the partition', POSITIONS, [
    '[-if (!isCurrent(partition, cursor)) return\n      -]const retryInMs',
  ]),
  bug('a topic that grew is followed', POSITIONS, ['if (unknown [-!== undefined-]{+=== Infinity+}) {']),
  bug('an api continues with a newer fold version', CLAIM_INDEX, [
    "what: 'reading the checkpoints',\n    log,\n    onHalt{+() {}+},",
  ]),

  // The orderly end.
  rare(1770, 'the shutdown does not wait for waiters', CREATE, [
    'await [-deadlines.allEnded()-]{+Promise.allSettled(owners.values())+}',
  ]),
  bug('the shutdown resolves no create', DEADLINE, [
    '[-for (const deadline of running) deadline.at = Math.min(deadline.at, shutdownAt)-]',
  ]),

  // The projector.
  rare(36, 'an idle projector does not compare its checkpoint', PROJECTOR, ['[-follower.reloadCheckpoints(moved)-]']),
  bug('a chunk omits its first record', CHUNKS, ['records.slice(start{+ === 0 ? 0 : start + 1+}, start + maxRecords)']),
  bug('a chunk moves the checkpoint to the end of the delivery', CHUNKS, [
    'const reached = [-isLast ? next : checkpointAt((chunk.at(-1) as R).offset, chunk)-]{+next+}',
  ]),
  bug('control records do not move the checkpoint', CHUNKS, [
    '{+if (records.length === 0) return next\n  +}if (records.length <= maxRecords) return apply(from, records, next)',
  ]),
  ...REBUILD_BUGS,
  ...BACKUP_BUGS,
]
