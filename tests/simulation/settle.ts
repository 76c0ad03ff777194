import type { PlantId } from '@plant-store/shared/plant/plant.ts'
import { allPartitions, type Partition } from '@plant-store/shared/plant/position.ts'
import type { Checkpoint } from '@plant-store/shared/protocol/checkpoint.ts'
import type { Random } from './random.ts'
import { APIS } from './schedule.ts'
import { winnerOf } from './truth.ts'
import { goOn, turn } from './turns.ts'
import { IDS, PARTITIONS, type World } from './world.ts'

/** After the last fault: all has to recover by itself, to work, and to come to rest with every promise kept. */
export async function settle(world: World, random: Random): Promise<void> {
  world.network.calmDown()
  world.reconnectAll()
  await turn()
  const stopping = world.started().filter(({ isStopping }) => isStopping)
  for (let place = 0; place < APIS; place++) {
    const running = world.apis[place]
    if (running?.life.alive !== true || running.api?.isStopping) void world.startApi(place, random)
    else if (running.api && running.api.tail.assigned() === undefined) {
      running.api.tail.rebalance(allPartitions(PARTITIONS), random)
    }
  }
  giveEveryPartitionToSomebody(world, random)
  await checkReadsWithoutKafka(world)
  const haveEnded = () => stopping.every(({ life }) => !life.alive)
  if (!(await goOn(world, random, () => haveEnded() && isAtRest(world)))) {
    return world.broken(`nothing settles: ${unrest(world)}`)
  }
  await checkService(world, random)
  await checkRetries(world, random)
  if (!(await goOn(world, random, isAtRest))) return world.broken(`nothing settles again: ${unrest(world)}`)
  world.surroundings.onApplied()
  world.clients.checkLog(world.foreign)
  await checkLists(world, random)
}

function giveEveryPartitionToSomebody(world: World, random: Random): void {
  const all = allPartitions(PARTITIONS)
  const projecting = world.projecting()
  for (const { follower } of projecting)
    if (follower.assigned() === undefined) follower.rebalance(all, random)
  if (all.every((partition) => projecting.some(({ follower }) => follower.assigned()?.has(partition)))) return
  if (projecting[0] === undefined) world.startProjector(0, all)
  else projecting[0].follower.rebalance(all, random)
}

/** What Redis has is read also while no record comes from Kafka. */
async function checkReadsWithoutKafka(world: World): Promise<void> {
  for (const api of world.listening()) {
    for (const id of IDS) {
      const winner = winnerOf(world.log, id)
      const reached = winner && world.reachedBy(api.life.redis, winner.partition)
      if (winner === undefined || reached === undefined || reached < winner.offset) continue
      const position = { partition: winner.partition, offset: reached }
      const answers: { is: string }[] = []
      void world.clients.readAt(api, id, position).then((answer) => answers.push(answer))
      await turn()
      await turn()
      if (answers[0]?.is !== 'plant' && answers[0]?.is !== 'unreadablePlant') {
        world.broken(`${api.life.name} can't read what Redis has: ${answers[0]?.is}`)
      }
    }
  }
}

export function isAtRest(world: World): boolean {
  const apis = world.started()
  const isAtEnd = ({ offset }: Checkpoint, p: Partition) => offset === world.log.end(p) - 1
  const problems = [
    ...apis.map(({ claimIndex }) => claimIndex),
    ...world.projecting().map(({ projector }) => projector),
  ].flatMap((service) => service.problems())
  return (
    problems.length === 0 &&
    world.isAtEnd() &&
    apis.length === APIS &&
    apis.every((api) => api.isListening && api.waiting === 0) &&
    apis.every(({ claimIndex }) =>
      allPartitions(PARTITIONS).every((p) => isAtEnd(claimIndex.passed(p), p)),
    ) &&
    world
      .projecting()
      .every(({ projector }) => [...projector.checkpoints()].every(([p, at]) => isAtEnd(at, p)))
  )
}

function unrest(world: World): string {
  const apis = world
    .started()
    .map(
      ({ life, isListening, waiting, claimIndex }) =>
        `${life.name} ${isListening ? 'listens' : 'does not listen'}, ${waiting} wait, ${claimIndex.problems().join(', ')}`,
    )
  return [world.isAtEnd() ? 'Redis is at the end' : 'Redis is not at the end', ...apis].join('; ')
}

/** Each api lists exactly the fold of the log, in pages of any length. */
async function checkLists(world: World, random: Random): Promise<void> {
  const apis = world.listening()
  let done = 0
  for (const [n, api] of apis.entries()) void world.clients.listAll(api, 1 + n).then(() => done++)
  await turn()
  if (!(await goOn(world, random, () => done === apis.length))) world.broken('a list is not answered')
}

async function checkRetries(world: World, random: Random): Promise<void> {
  const api = random.pick(world.listening())
  if (api === undefined) return
  let done = false
  void world.clients.retryUnknown(api).then(() => {
    done = true
  })
  if (!(await goOn(world, random, () => done))) world.broken('a retry with the same key is not answered')
}

/** Each api creates a plant, and knows every plant. */
async function checkService(world: World, random: Random): Promise<void> {
  for (const [n, api] of world.listening().entries()) {
    // What the one before has created may have pushed a small window over what Redis does not have yet.
    await goOn(world, random, isAtRest)
    const id = BigInt(1_000 + n) as PlantId
    const answers: { is: string }[] = []
    void world.clients.createNew(api, random, id).then((outcome) => answers.push(outcome))
    for (const known of [id, ...IDS]) {
      void world.clients.readAt(api, known).then((answer) => {
        if (answer.is === 'coverageGap') world.broken(`${api.life.name} can't read though all has settled`)
      })
    }
    await goOn(world, random, () => answers.length > 0)
    if (answers[0]?.is !== 'created') {
      world.broken(`${api.life.name} can't create though all has settled: ${answers[0]?.is}`)
    }
  }
}
