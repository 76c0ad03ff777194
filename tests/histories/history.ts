import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { after, BEFORE_FIRST, type Offset, type Partition } from '@plant-store/shared/plant/offset.ts'
import type { Claim, LogRecord } from '@plant-store/shared/plant/plant-created.ts'
import type { PlantId } from '@plant-store/shared/plant/plant-id.ts'
import { admit, type Checkpoint, seekOffset } from '@plant-store/shared/protocol/checkpoint.ts'
import {
  emptyPartition,
  firstWins,
  fold,
  type PartitionState,
} from '@plant-store/shared/protocol/first-wins.ts'
import { createHorizon, type Horizon } from '@plant-store/shared/protocol/horizon.ts'
import { afterAppend, verdict } from '@plant-store/shared/protocol/verdict.ts'
import { firstOf, type LookedUp, reachOf, type WindowFace } from '@plant-store/shared/protocol/view.ts'
import { createWindow, type Window } from '@plant-store/shared/protocol/window.ts'

// One partition of a plant store, driven step by step by a list of numbers: apis that create and read,
// projectors, a read model that falls back or empties, acknowledgements that nobody waits for. What decides
// is the product's own code, or a wrong variant of it.

export const RULES = {
  firstWins,
  admit,
  firstOf,
  afterAppend,
  reachOf,
  /** Whether the read model takes records that follow `expected` while it stands at `found`. */
  checkpointHolds: (expected: Offset, found: Offset) => expected === found,
  /** The window to judge a look-up with, given also where it began when the look-up was asked for. */
  windowToJudgeWith: (now: WindowFace, _startWhenAsked: Offset): WindowFace => now,
  /** Whether a view may tell an absence, or has to wait. */
  reachesHorizon: (reach: Offset, horizon: Horizon): boolean => reach >= horizon.of(PARTITION),
  reachesPosition: (reach: Offset, position: Offset): boolean => reach >= position,
}
export type Rules = typeof RULES

const PARTITION = 0 as Partition
const IDS = 3
const SMALL_WINDOW_BYTES = 2_000
const LARGE_WINDOW_BYTES = 1_000_000

type Lookup = { answer: LookedUp; startWhenAsked: Offset }
type Create = { id: PlantId; eventId: EventId; stage: 'new' | 'looked up' | 'appended'; lookup?: Lookup }
type Read = { id: PlantId; position: Offset; lookup: Lookup }
type Api = { window: Window; horizon: Horizon; creates: Create[]; reads: Read[]; shown: Set<PlantId> }

/** Plays a history. Returns the first promise it saw broken, or undefined. */
export function playHistory(choices: readonly number[], rules: Rules): string | undefined {
  const log: LogRecord[] = []
  const onTheWay: Omit<Claim, 'offset'>[] = []
  const lastShown = new Map<PlantId, Offset>()
  const events: { id: PlantId; eventId: EventId }[] = []
  let model = emptyPartition()
  const snapshots = [emptyPartition()]
  const projectors: Checkpoint[] = [model.checkpoint, model.checkpoint]
  const apis = [newApi(LARGE_WINDOW_BYTES), newApi(SMALL_WINDOW_BYTES)]
  let broken: string | undefined
  let at = 0

  const choose = (count: number) => (choices[at++] ?? 0) % count
  const pick = <T>(items: readonly T[]): T | undefined => items[choose(Math.max(1, items.length))]
  const firstInLog = (id: PlantId) => log.find(({ claim }) => claim?.id === id)?.claim

  function newApi(windowBytes: number): Api {
    const window = createWindow(after(model.checkpoint.offset), windowBytes)
    return {
      window,
      horizon: createHorizon([(log.length - 1) as Offset]),
      creates: [],
      reads: [],
      shown: new Set(),
    }
  }

  function check(holds: boolean, promise: string): void {
    if (!holds) broken ??= promise
  }

  function show(api: Api, { id, offset }: Claim): void {
    api.horizon.show(PARTITION, offset)
    api.shown.add(id)
    lastShown.set(id, offset)
  }

  function answerCreate(api: Api, create: Create, first: Claim): void {
    api.creates = api.creates.filter((other) => other !== create)
    const answer = verdict(create.eventId, first)
    const winner = firstInLog(create.id)
    if (answer === 'created')
      check(winner?.eventId === create.eventId, 'a 200 whose event is not the first of its id')
    else
      check(
        winner !== undefined && winner.eventId !== create.eventId,
        'a duplicate though the create itself won',
      )
    show(api, first)
  }

  function look(api: Api, id: PlantId): Lookup {
    const { start } = api.window
    return {
      answer: { entry: model.plants.get(id), checkpoint: model.checkpoint.offset },
      startWhenAsked: start,
    }
  }

  const steps = {
    beginCreate(api: Api) {
      const retried = choose(4) === 0 ? pick(events) : undefined
      const id = retried?.id ?? (BigInt(choose(IDS)) as PlantId)
      const create: Create = {
        id,
        eventId: retried?.eventId ?? (`event-${events.length}` as EventId),
        stage: 'new',
      }
      events.push(create)
      api.creates.push(create)
    },
    lookUp(api: Api) {
      const create = pick(api.creates.filter(({ stage }) => stage === 'new'))
      if (create !== undefined) Object.assign(create, { stage: 'looked up', lookup: look(api, create.id) })
    },
    judgeLookUp(api: Api) {
      const create = pick(api.creates.filter(({ stage }) => stage === 'looked up'))
      if (create?.lookup === undefined) return
      const window = rules.windowToJudgeWith(api.window, create.lookup.startWhenAsked)
      const known = rules.firstOf(create.id, create.lookup.answer, window)
      if (known.is === 'claimed') return answerCreate(api, create, known.first)
      if (known.is === 'unknown') api.creates = api.creates.filter((other) => other !== create)
      else {
        create.stage = 'appended'
        onTheWay.push({ id: create.id, eventId: create.eventId, plant: { name: create.eventId } })
      }
    },
    judgeAppend(api: Api) {
      const create = pick(api.creates.filter(({ stage }) => stage === 'appended'))
      if (create?.lookup === undefined) return
      const known = rules.afterAppend(create.id, create.lookup.answer.checkpoint, api.window)
      if (known.is === 'decided') answerCreate(api, create, known.first)
      const entry = known.is === 'window moved on' ? model.plants.get(create.id) : undefined
      if (entry !== undefined) answerCreate(api, create, entry)
    },
    giveUp(api: Api) {
      api.creates.shift()
    },
    land() {
      const claim = pick(onTheWay)
      if (claim === undefined) return
      const offset = log.length as Offset
      log.push({ offset, claim: { ...claim, offset } })
      // Sometimes it stays: a retry of the producer writes it again.
      if (choose(4) > 0) onTheWay.splice(onTheWay.indexOf(claim), 1)
    },
    landForeign() {
      if (choose(4) === 0) log.push({ offset: log.length as Offset, parked: 1 })
    },
    tail(api: Api) {
      for (let left = 1 + choose(4); left > 0 && api.window.next < log.length; left--) {
        api.window.pass(log[api.window.next] as LogRecord)
      }
    },
    prune(api: Api) {
      api.window.dropBefore(after(model.checkpoint.offset))
    },
    beginRead(api: Api) {
      const id = BigInt(choose(IDS)) as PlantId
      const position = choose(2) === 0 ? (lastShown.get(id) ?? BEFORE_FIRST) : BEFORE_FIRST
      api.reads.push({ id, position, lookup: look(api, id) })
    },
    judgeRead(api: Api) {
      const read = api.reads.shift()
      if (read === undefined) return
      const window = rules.windowToJudgeWith(api.window, read.lookup.startWhenAsked)
      const reach = rules.reachOf(window, read.lookup.answer.checkpoint)
      if (!rules.reachesPosition(reach, read.position)) return
      const known = rules.firstOf(read.id, read.lookup.answer, window)
      if (known.is === 'claimed') {
        check(
          known.first.plant?.name === firstInLog(read.id)?.plant?.name,
          'a read that changes or invents a plant',
        )
        show(api, known.first)
      }
      if (known.is === 'absent' && rules.reachesHorizon(reach, api.horizon)) {
        check(!api.shown.has(read.id), 'a read that forgets what this instance has shown')
        check(read.position === BEFORE_FIRST, 'a read that forgets what the client has seen')
      }
    },
    project() {
      const n = choose(projectors.length)
      const at = projectors[n] as Checkpoint
      // Now and then from elsewhere: a client begins at 0 again, or where its group once stood.
      const askedFor = choose(6) === 0 ? (choose(log.length + 1) as Offset) : seekOffset(at)
      const records = log.slice(askedFor, askedFor + 1 + choose(5))
      const last = records.at(-1)?.offset ?? at.offset
      const admission = rules.admit(at, { askedFor, last, end: log.length as Offset, records })
      if (admission.do === 'halt') check(false, 'a halt on the right log')
      if (admission.do !== 'apply') return
      // Nothing new to apply: time to compare the checkpoints.
      if (admission.records.length === 0 || !rules.checkpointHolds(at.offset, model.checkpoint.offset)) {
        projectors[n] = model.checkpoint
        return
      }
      model.checkpoint = at
      fold(model, admission.records, rules.firstWins)
      projectors[n] = model.checkpoint = admission.checkpoint
    },
    snapshot() {
      snapshots.push(copy(model))
    },
    fallBack() {
      if (choose(3) > 0) return
      model = copy(pick(snapshots) ?? emptyPartition())
    },
    restart() {
      if (choose(3) === 0) apis[choose(2)] = newApi(choose(2) === 0 ? SMALL_WINDOW_BYTES : LARGE_WINDOW_BYTES)
    },
  }

  const kinds = Object.values(steps)
  while (at < choices.length && broken === undefined) {
    const step = kinds[choose(kinds.length)] as (api: Api) => void
    step(apis[choose(apis.length)] as Api)
    check(
      sameState(model, fold(emptyPartition(), log.slice(0, model.checkpoint.offset + 1))),
      'the read model is no fold of the log',
    )
  }
  return broken
}

function copy({ checkpoint, plants, parked, voids }: PartitionState): PartitionState {
  return { checkpoint, plants: new Map(plants), parked: new Map(parked), voids }
}

function sameState(a: PartitionState, b: PartitionState): boolean {
  return (
    a.checkpoint.offset === b.checkpoint.offset &&
    a.voids === b.voids &&
    a.parked.size === b.parked.size &&
    a.plants.size === b.plants.size &&
    [...a.plants].every(([id, claim]) => b.plants.get(id)?.offset === claim.offset)
  )
}
