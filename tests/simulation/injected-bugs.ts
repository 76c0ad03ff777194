import { bugsOf } from './injected-bug.ts'

/**
 * By their files: for the rules of docs/explanation/write-protocol.md, docs/decisions/rebuild-and-verification.md and
 * docs/decisions/backup.md, and the branches of the code that decides.
 */
export const INJECTED_BUGS = bugsOf({
  'shared/src/protocol/window.ts': {
    'the last claim wins in the window':
      '[-|| claims.has(claim.id)) return undefined-]{+) return undefined\n      if (claims.has(claim.id)) while (claims.count() > 0) claims.dropOldest()+}',
    'a window that skips keeps its start': '      [-claims.clear()\n      -]{+if (offset < start) +}start = offset\n',
    'a window that skips keeps its claims': '      [-claims.clear()\n      -]start = offset\n',
    'a full window does not move its start': '[-start = after(-]claims.dropOldest()[-)-]',
    'a window that drops claims does not move its start': '[-      start = bound\n-]',
    'a full window pauses the tail':
      '      {+if (claims.bytes() > maxBytes / 2) return undefined\n      +}if (offset < next) throw',
    'a window without bounds is never full':
      '[-while (claims.bytes() > maxBytes) start = after(claims.dropOldest())-]{+if (claims.bytes() > maxBytes) while (claims.count() > 0) claims.dropOldest()+}',
    'a window drops one claim too many': 'claims.oldest() <{+=+} bound)',
    'the window does not pass control records': '[-if (offset > next) next = offset-]',
  },
  'shared/src/protocol/coverage.ts': {
    'the verdict is always created': "[-own === first.eventId ? -]'created'[- : 'duplicate'-]",
    'the verdict is always a duplicate': "[-own === first.eventId ? 'created' : -]'duplicate'",
    'a coverage gap is not detected': '[-window.start > after(checkpoint)-]{+false+}',
    'a coverage gap of one offset is not detected': 'window.start > after([-checkpoint-]{+after(checkpoint)+})',
    'a coverage gap is reported where there is none': 'window.start >{+=+} after(checkpoint)',
    'the window decides in spite of a gap':
      "{+const first = window.firstClaim(id)\n  +}if ({+first === undefined && +}hasCoverageGap(window, checkpoint)) return { is: 'unknown' }[-\n  const first = window.firstClaim(id)-]",
    'the entry in Redis is ignored': "[-if (entry !== undefined) return { is: 'claimed', first: entry }-]",
    'the reach ignores a gap': 'return [-hasCoverageGap(window, checkpoint) || -]checkpoint > tail ? checkpoint : tail',
    'the reach is the tail even if Redis is ahead': 'hasCoverageGap(window, checkpoint) [-|| checkpoint > tail -]',
    'the read floor is never raised': '[-if (offset > (floors[partition] as Offset)) floors[partition] = offset-]',
  },
  'shared/src/protocol/plants-table.ts': {
    'a void claim becomes a row':
      '[-if (first.offset < claim.offset) continue\n    if (first.eventId !== claim.eventId) return undefined-]',
    'a repeated claim becomes a row': 'if (first.offset < claim.offset{+ && first.eventId !== claim.eventId+})',
    'a claim that the read model does not have becomes a row':
      'if ([-claim.offset > checkpoint || -]first === undefined || first.offset > claim.offset) [-return undefined-]{+{\n      rows.push(claim)\n      continue\n    }+}',
    'the last claim of an id gives its row the plant':
      'const plant = [-claim-]{+claims.findLast(({ id }) => id === claim.id)?+}.plant ?? first.plant',
    'a new writer of the table starts one row too late': '{+(+}latest.offset{+ + 1) as Offset+}',
    'queued records are written although others are missing before them':
      '[-if (from.offset > written.offset) return undefined-]',
  },
  'shared/src/table/table-writer.ts': {
    'a row that the read model does not know yet is left out': '[-left.delete(state.partition)-]',
    'a partition waits for ever for rows that are not known': '[-for (const state of waiting) state.isBusy = false-]',
    'a partition that was caught up is written no longer': 'left.delete(partition)[-\n    state.isBusy = false-]',
    'a new writer of the table starts at the checkpoint of the read model':
      'state.written = [-writtenUpTo(rows.get(state.partition))-]{+state.target+}',
    'the records before the queued ones are read one offset too late':
      '{ from: [-written-]{+{ ...written, offset: after(written.offset) }+}, end: after(end as Offset) }',
    'a failed append to the table counts as written': '{+(+}await appendEach(sent, channel){+) && new Map()+}',
  },
  'shared/src/plant/plant-created.ts': {
    'a record of an unknown version claims nothing': '[-claim: { offset, id, eventId, plant: undefined }, -]parked',
    'a record with an unreadable payload claims nothing': '{ offset, [-claim, -]parked: PARKED.unreadablePayload }',
    'a record in the wrong partition claims its id':
      '[-if (partitionOf(key, partitions) !== partition) return { offset, parked: PARKED.wrongPartition }-]',
    'an id in another spelling is a claim': "parsePlantId({+String(Number(+}key.toString('latin1')){+))+}",
    'a record without an event id claims its id':
      "{+(+}ceId === undefined ? undefined : readEventId(ceId){+) ?? ('00000000-0000-4000-8000-000000000000' as EventId)+}",
    'a record of another type claims its id':
      '[-if (!isHeader(record.headers.ce_type, TYPE)) return { offset: record.offset, parked: PARKED.otherType }-]',
  },
  'shared/src/protocol/list.ts': {
    'a list continues over a gap': 'if (claims.length === count[- || hasCoverageGap(window, checkpoint)-]) return',
    'a list includes void claims': 'claims[-.filter((_, n) => isFirst(lookedUp.entries[n], listed.checkpoint))-]',
    'a list leaves out claims that Redis has applied in the meantime': '[- || entry.offset >= after(checkpoint)-]',
    'a Redis that fell back decides which claims of a list are void':
      'const isDecided = [-lookedUp.checkpoint >= listed.checkpoint-]{+true as boolean+}',
    'a list starts again where Redis ends': 'created.slice([-Math.max(0, from - listed.plants)-]{+0+}, ',
    'a list omits the first plant after Redis': 'window.claimsAfter([-checkpoint-]{+after(checkpoint)+}, max)',
    'a list ends at the limit of candidates': '[-candidates.isComplete && -]',
    'a list ends below the read floor': '[- && reach >= required.readFloor-]',
    'a list continues in a partition below the token':
      '[-if (reach < required.token) return { claims: [], isEnd: false }-]',
  },
  'shared/src/event-log/lanes.ts': {
    "an acknowledged create at its deadline is 'not written'": 'entry.[-mayBeWritten = true\n      entry.-]resolve',
    "a create in flight at its deadline is 'not written'": 'if (entry.[-isInFlight || entry.-]mayBeWritten) return',
    "a refusal after an attempt without an outcome is 'not written'": 'if (!isForGood[- || entry.mayBeWritten-])',
    'an attempt without an outcome is forgotten': "'unknown') {[-\n      entry.mayBeWritten = true-]",
    'an append that was given up is sent': '      [-dropGivenUp(queue)\n      -]if',
    'the results of two partitions are exchanged':
      'settle(queue, sent, [-results.get(queue.partition)-]{+[...results.values()].at(-1)+} as AppendResult)',
  },
  'shared/src/protocol/checkpoint.ts': {
    'a delivery from beyond the checkpoint is applied':
      "[-if (delivery.requested > after(checkpoint.offset)) return { do: 'seek' }-]",
    'a delivery is applied again': [
      '{+[...+}delivery.records[-.filter(({ offset }) => offset > checkpoint.offset)-]{+]+}',
      "[-if (delivery.last === checkpoint.offset) return { do: 'apply', records: [], checkpoint }-]",
    ],
    'an earlier delivery sets the checkpoint back': "[-if (delivery.last < checkpoint.offset) return { do: 'seek' }-]",
    'the checkpoint names no event': "[-(record?.offset === last && record.claim?.eventId) || -]''",
    'the checkpoint names an event from before it':
      "[-(record?.offset === last && record.claim?.eventId) || ''-]{+record?.claim?.eventId ?? ''+}",
    'a log that ends before the checkpoint is followed': 'return offset < [-end-]{+Infinity+}\n',
    'the event at the checkpoint is not compared': 'if ([-found !== eventId-]{+false as boolean+}) {',
    'reading continues after the checkpoint, not at it':
      'return [-offset === BEFORE_FIRST ? FIRST : offset-]{+after(offset)+}',
    'a batch that cannot be decoded is skipped':
      "[-if (delivery.undecodable !== undefined) return { do: 'wait', batch: delivery.undecodable }-]",
  },
  'shared/src/event-log/partition-cursors.ts': {
    'the leader is not asked whether the log ends before the checkpoint':
      '[-await loadCheckpoints(new Map([[partition, cursor]])).catch(fail)-]',
    'an offset that a broker does not have halts its reader':
      "await [-loadCheckpoints(new Map([[partition, cursor]])).catch(fail)-]{+halt('the log ends', partition)+}",
    'a log without a leader counts as empty':
      '[-end === undefined ? undefined : -]outOfBounds(load.value, end{+ ?? (0 as Offset)+})',
    'a delivery after the checkpoint verifies the log': [
      '[-if (!cursor.verified && delivery.requested > checkpoint.offset)\n      return source.seek(partition, seekOffset(checkpoint))\n-]',
      'if (!cursor.verified[- && delivery.last >= checkpoint.offset-]) {',
    ],
    'a batch that cannot be decoded is not fetched again':
      "if (decision.do === 'wait') return [-waitFor(partition, cursor, decision.batch)-]{+source.pause(partition)+}",
    'a failed start is not retried': 'if (failed.size [-==-]{+>+}= 0) return',
    'the ends of the log are read before the checkpoints': [
      '[-const ends = isAnyLoaded ? await source.ends().catch((error: Error) => error) : []-]',
      '{+const ends = await source.ends().catch((error: Error) => error)\n    +}const loads = await Promise.allSettled(',
    ],
    'a failure of an earlier assignment pauses the partition':
      '[-if (!isCurrent(partition, cursor)) return\n      -]const retryInMs',
    'a topic that grew is followed': 'if (unknown [-!== undefined-]{+=== Infinity+}) {',
  },
  'shared/src/stores/preconditions.ts': {
    'at the start the ends of the log are read before the checkpoints': [
      '[-  const state = await readLog()\n-]',
      '  {+const state = await readLog()\n  +}const checkpoints = new Map<Partition, Checkpoint>()',
    ],
  },
  'shared/src/read-model/apply.ts': {
    'a chunk omits its first record': 'records.slice(start{+ === 0 ? 0 : start + 1+}, start + maxRecords)',
    'a chunk moves the checkpoint to the end of the delivery':
      'const reached = [-isLast ? next : checkpointAt((chunk.at(-1) as R).offset, chunk)-]{+next+}',
    'control records do not move the checkpoint':
      '{+if (records.length === 0) return next\n  +}if (records.length <= maxRecords) return apply(from, records, next)',
  },
  'services/api/src/create-plant/create-plant.ts': {
    'the acknowledgement decides':
      "else firstClaim.undecided(){+\n      if (written.is === 'appended') resolve({ is: 'decided', first: { ...claim, offset: written.offset ?? (0 as Offset) } })+}\n",
    'the window start is read before the look-up': [
      '{+const { start } = claimIndex.window(partition)\n      +}const found = await lookUps.find',
      '{+const now = claimIndex.window(partition)\n      +}const known = firstClaimOf(id, { entry, checkpoint }, [-claimIndex.window(partition)-]{+{ start, next: now.next, firstClaim: now.firstClaim }+})',
    ],
    'a create does not raise the read floor': '[-claimIndex.readFloor.raise(partition, first.offset)-]',
    'a keyed create is a duplicate as soon as its id is in the window': '[-!keyed && -]claimed !== undefined',
    'a waiter gets the outcome of its owner':
      "if (resolution.is === 'decided') return [-verdictOn(resolution.first)-]{+{ is: 'created', partition, offset: resolution.first.offset }+}\n      if (deadline",
    "a keyed waiter at its deadline is 'not written'": "{ is: [-keyed ? 'outcomeUnknown' : -]'notWritten' }",
    "a waiter forgets that the owner's event may be in the log":
      "[-if (keyed && resolution.is === 'outcomeUnknown') mayBeWritten = true-]",
    'an owner in a coverage gap forgets that its event may be in the log':
      "verdictOn(resolution.first) : {+resolution.is === 'coverageGap' ? resolution : +}failed(resolution)",
    "every create at its deadline is 'not written'": "resolution ?? [-failureOf(known)-]{+{ is: 'notWritten' }+}",
    'the checkpoint of the look-up is forgotten': 'checkpoint: [-absent.checkpoint-]{+Infinity as Offset+} }',
    "a keyed create whose event is in the log is 'outcome unknown'":
      "{+if (absent.is === 'decided' && absent.first.eventId === claim.eventId) return { is: 'outcomeUnknown' }\n    +}if (absent.is !== 'absent') return absent",
    'the shutdown does not wait for waiters': 'await [-deadlines.allEnded()-]{+Promise.allSettled(owners.values())+}',
  },
  'services/api/src/claim-index/claim-index.ts': {
    'an acknowledgement beyond the known records is added':
      'if (offset [-!==-]{+=== undefined || offset <+} window(partition).next) {',
    'an acknowledgement is added one offset too early':
      '{+if (offset === after(window(partition).next)) offset = window(partition).next\n      +}if (offset !== window(partition).next) {',
    'what the tail has delivered is added again':
      '{+if (offset !== undefined && offset < window(partition).next) offset = window(partition).next\n      +}if (offset !== window(partition).next) {',
    'the tail leaves out what is not known yet': 'if (record.offset <{+=+} window.next) continue',
    'the tail delivers again what was acknowledged': '[-if (record.offset < window.next) continue-]',
    'the tail rests permanently': [
      'const ms = [-isLogShared ? 2 * READINGS_FOR_EACH_REST * READ_CHECKPOINTS_EVERY_MS : TAIL_REST_MS-]{+Infinity+}',
      '[-if (!isLogShared || readings % READINGS_FOR_EACH_REST === 0) rest?.wake.abort()-]',
    ],
    'the tail skips an offset that the read model does not have': 'continueAt(after({+after(+}checkpoint.offset)){+)+}',
    'going back lowers the read floor':
      'rewoundTo[partition] = checkpoint.offset{+\n    readFloor.of = () => checkpoint.offset+}\n',
    'the tail does not go back': '    const reader = [-tail.assigned()?.get(partition)-]{+undefined+}\n',
    'the tail sleeps while no projector runs': [
      '    {+if (isLogShared) return\n    +}awakeUntil = time.now()',
      '[-if (!isLogShared || readings % READINGS_FOR_EACH_REST === 0) rest?.wake.abort()-]',
      ' ? [-2 * READINGS_FOR_EACH_REST * READ_CHECKPOINTS_EVERY_MS-]{+Infinity+} :',
      'isLogShared {+||+}= failed.size === 0 && others > sharedLogRecordsPerS',
    ],
    'the read floor does not start at the end of the log':
      'ends.map([-(end) => (end - 1) as Offset-]{+() => -1 as Offset+})',
    'an api continues with a newer fold version': "what: 'reading the checkpoints',\n    log,\n    onHalt{+() {}+},",
  },
  'services/api/src/claim-index/first-claims.ts': {
    'a window that has moved on decides': 'entry, checkpoint: [-each.checkpoint-]{+Infinity as Offset+} }',
    'entries in Redis never decide': '[-    look(each, entry)\n-]',
    'a missing entry decides':
      '    look(each, entry{+ ?? { id: each.id, eventId: each.eventId, offset: 0 as Offset, plant: undefined }+})\n',
    'the checkpoint of a later look-up is taken before its entry':
      '[-if (checkpoint > each.checkpoint) each.checkpoint = checkpoint-]{+each.checkpoint = Infinity as Offset+}',
  },
  'services/api/src/read-plants/read-plant.ts': {
    'the window start is read before the look-up of a read': [
      '{+const { start } = claimIndex.window(partition)\n    +}const lookUps =',
      'const [-window-]{+now+} = claimIndex.window(partition){+\n    const window = { start, next: now.next, firstClaim: now.firstClaim }+}',
    ],
    'a read does not raise the read floor': '[-    claimIndex.readFloor.raise(partition, offset)\n-]',
    'a plant is reported absent below the read floor': "[-reachesFloor ? -]{ is: 'noSuchPlant' }[- : undefined-]",
    "the client's token is ignored": '>= [-offset-]{+(p === partition ? BEFORE_FIRST : offset)+}\n',
    'a token for another partition is ignored': '>= [-offset-]{+(p === partition ? offset : BEFORE_FIRST)+}\n',
    'a read with unknown result reports an absent plant': "'unknown') return [-undefined-]{+{ is: 'noSuchPlant' }+}",
  },
  'services/api/src/read-plants/list-plants.ts': {
    'a list checks the token only in the partitions that it reads':
      '[-if (!(await reachesAll(token))) return undefined-]',
    "the window start is read before the read model's list": [
      '{+const starts = spans.map(({ partition }) => claimIndex.window(partition).start)\n    +}const { results, ...failed } =',
      '{+{ start: starts[n] as Offset, next: +}claimIndex.window(span.partition){+.next, firstClaim: claimIndex.window(span.partition).firstClaim, claimsAfter: claimIndex.window(span.partition).claimsAfter }+}',
    ],
    'a list ends at the last partition':
      '[-const { length } = cursor.listed\n    -]const partitions = cursor.listed{+.slice(cursor.partition)+}.map((_, n) => [-((cursor.partition + n) % length)-]{+(cursor.partition + n)+} as Partition){+\n    const { length } = partitions+}',
    'a list ends where the next plant is not known': 'claims, shown[-, next: { partition, listed }-] })',
    'a page before the end is empty': '[-claims.length === 0 ? undefined : -]show(',
    'a list does not raise the read floor': '[-claimIndex.readFloor.raise(partition, offset)-]{+{}+}',
  },
  'services/api/src/create-plant/look-ups.ts': {
    'a failed look-up counts as an absent id':
      'failed: [-(error) => suspect(partition, error)-]{+() => each.found({ entry: undefined, checkpoint: Infinity as Offset })+},',
  },
  'services/api/src/create-plant/deadline.ts': {
    'the shutdown resolves no create':
      '[-for (const deadline of running) deadline.at = Math.min(deadline.at, shutdownAt)-]',
  },
  'services/projector/src/projector.ts': {
    'an idle projector does not compare its checkpoint': '[-follower.reloadCheckpoints(moved)-]',
  },
  'plantctl/src/rebuild/fill.ts': {
    'a generation gets the name of an earlier one': "startFilling(partition, [-freshName()-]{+'the new one'+})",
    'the fold continues where the generation was left':
      'filled = started.checkpoint{+\n      if (folded.checkpoint.offset < filled.offset) folded.checkpoint = filled+}\n',
  },
  'plantctl/src/rebuild/finish.ts': {
    'a generation is verified before its mark': [
      "[-const marked = await generations.mark(partition, generation, mark)\n      if (marked.is !== 'marked') return undefined\n-]",
      '[- || state.mark !== mark-]) return undefined',
      "[-onPhase('switching')-]{+await generations.mark(partition, generation, mark)+}\n",
    ],
    'a mark is not fresh': "const mark = [-freshName()-]{+'the mark'+}",
    'a difference counts in spite of a failover':
      'if ([-found !== mark || fill.generation() !== generation) return undefined\n    if (!isDoubted-]{+false as boolean+}) {',
    'a rebuild does not seek back when its generation falls back':
      '    await fill.refresh()\n    [-refollow(partition)\n    -]return false',
  },
  'plantctl/src/rebuild/rebuild.ts': {
    'left-over generations are not dropped': "[-await generations.drop(partition, generation)-]{+{ is: 'filling' }+}",
  },
  'plantctl/src/verify/generation-comparison.ts': {
    'nothing is compared': 'return [-findings.listed-]{+[]+}',
    'counts are not compared':
      '[-  compareMeta({ reached: checkpoint, end: after(upTo), partitions, mark: state.mark })\n-]',
    'the counts of other slices are left out': '{+{ ...+}countsOf(otherFold){+, voids: 0 }+}',
  },
  'plantctl/src/verify/compare.ts': {
    'entries that are read back count as equal':
      '[-!isDeepStrictEqual(stored, plants.span(from, length))-]{+stored === undefined+}',
    'entries are not compared': "[-report({ what: 'entryChanged', id, ...difference })-]{+{}+}",
    'a missing entry is not reported': '[-report({ what, id, expected: formatClaim(expected) })-]',
    'the order is not compared': 'before.offset [-> claim.offset-]{+=== Infinity+}',
    'parked records are not compared': "&& found [-!== String(reason)-]{+=== ''+})",
  },
  'plantctl/src/backup/add-to-backup.ts': {
    'the offsets of groups are read after the ends': [
      '[-  const { groups, areAll } = await log.readGroups()\n-]',
      'await log.readTopic(){+\n  const { groups, areAll } = await log.readGroups()+}\n',
    ],
    'a backup continues that of another log': 'if ([-sought === undefined-]{+true+}) continue',
    'full files are written anew': '[-!file.isSmall || -]',
    'small files are written anew without their records': '[-await writer.add(records)-]{+{}+}\n',
    'a backup has the last claim twice': 'offset >= part.before{+ - 1+}',
  },
  'plantctl/src/backup/restore-log.ts': {
    'a restore compares only the ends': '[-|| lineOf(value) !== lineOf(record)-]) throw',
    'a restore compares only the records': 'if (end [-!== ends[partition]-]{+=== -1+}) throw',
    'the latch is lifted before the comparison': [
      '[-  await topic.release()\n-]',
      "  {+for (const group of manifest.groups) await topic.commitOffsets(group)\n  await topic.release()\n  +}await step('comparing with",
    ],
    'the latch is lifted before the groups are restored':
      '{+await topic.release()\n  +}for (const group of withGroups ? manifest.groups : []) await topic.commitOffsets(group)[-\n  await topic.release()-]',
    'a restore does not continue where the earlier run ended': '[-if (record.offset < from) continue\n-]',
    'the gap at the end of a partition is not restored': '[-await skipTo(end)-]',
    'a gap is restored before the records that precede it': '    await [-flush()\n    await -]writer.skip',
  },
  'plantctl/src/backup/repartition.ts': {
    'a claim in the wrong partition moves by its key': 'return [-((own + 1) % count) as Partition-]{+own+}',
    'records of several partitions are moved in reverse order': 'target.pending.[-push-]{+unshift+}(moved)',
  },
  'tests/simulation/redis-scripts.ts': {
    'the last claim wins in Redis': 'if ([-first === undefined-]{+true+}) {\n      generation.plants',
    'an unreadable claim gets no entry': 'if (claim !== undefined{+ && parked === undefined+}) {\n    const first',
    'Redis applies records that do not follow its checkpoint':
      'if ([-generation.checkpoint.offset !== expected.offset-]{+false as boolean+}) {',
    'an emptied Redis applies records that start later':
      "[-if (expected.offset !== BEFORE_FIRST) return { is: 'stale', checkpoint: BEFORE_LOG }-]",
    'a generation without its plants counts as whole': 'plantCount [-&& plants.has(order[0] as PlantId) -]?',
    'a generation without its order counts as whole':
      '[-order.length === plantCount && plants.has(order[0] as PlantId)-]{+plants.size === plantCount+} ?',
    'a dropped generation is recreated': [
      "[-if (call.generation !== '') return { is: 'gone' }\n-]",
      "generation = {+call.generation === '' ? +}beginLive(keys, call.freshGeneration, partitions){+ : emptyGeneration(partitions)\n    if (call.generation !== '') keys.generations.set(call.generation, generation)+}",
    ],
    'the switch does not demand the mark':
      "[-if (generation.mark !== mark) return { is: 'unmarked', mark: generation.mark }\n-]",
    'the switch replaces an unexpected live generation':
      "[-if (live !== expectedLive) return { is: 'changed', live }\n-]",
    'the switch accepts a generation behind the live one':
      "[-if (reached < toReach) return { is: 'behind', checkpoint: reached, live: toReach }\n-]",
    'the switch replaces a newer fold version': '[-  refuseNewer(generation)\n  refuseNewer(old)\n-]',
    'a rebuild starts beside a newer fold version': '[-  refuseNewer(live)\n  refuseNewer(begun)\n-]',
    'a rebuild resumes the generation of an older fold version': 'begun?.[-fold === FOLD_VERSION && begun.-]partitions',
    'a live generation is dropped': "[-if (keys.live === name) return { is: 'live' }\n  -]if (keys.filling",
  },
  'tests/simulation/redis.ts': {
    'a projector applies to a generation that is no longer live': [
      "const given = { generation: [-''-]{+(seen[partition] ||= keys.live)+},",
      '  {+const seen: string[] = []\n  +}const keysOf = ',
    ],
    'a look-up reads a generation that is no longer live': [
      'lookUpScript({+{ ...+}keysOf(partition), {+live: (seen[partition] ||= keysOf(partition).live) }, +}ids)',
      '  {+const seen: string[] = []\n  +}const keysOf = ',
    ],
  },
})
