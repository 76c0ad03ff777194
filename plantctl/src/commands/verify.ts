import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import { allPartitions } from '@plant-store/shared/plant/position.ts'
import { systemTime } from '@plant-store/shared/runtime/time.ts'
import { type CliContext, type Command, EXIT } from '../command.ts'
import { readOptions } from '../options.ts'
import { openStore } from '../store/open-store.ts'
import { logReader } from '../store/read-log.ts'
import { counted, grouped } from '../terminal/quantity.ts'
import { createReadingProgress } from '../terminal/reading-progress.ts'
import { safeJson, safeText } from '../terminal/safe-text.ts'
import { differenceInWords } from '../verify/difference.ts'
import { countOf } from '../verify/findings.ts'
import { createVerifier, type Verified } from '../verify/verifier.ts'
import { partitionsAmong } from './partition-option.ts'

const SHOWN_MAX = 20
const LINE_CHARACTERS = 1_000
const help = `Holds the read model to the log: reads the log from its first record, folds it, and compares each entry, their
order, what is parked, the counts and the checkpoint of each live generation, byte for byte, and looks for keys that
nothing needs, and for partitions of which nothing serves though the log has records. It only reads, and what serves
goes on: of each partition the log is folded up to the checkpoint that the partition has when its turn comes; what
comes in later is left out.

  plantctl verify
  plantctl verify --partition 3 --partition 5
  plantctl verify --json

  --partition  one of the partitions to look at; all of them without it
  --json       one JSON object: "differences" with all there are (of the first 100,000), "more" for the number of the
               others, "partitions" with the generation, "upTo" (the last offset compared), "end" (the log's next
               offset) and the number of plants of each

Exit code 3 says that there are differences. "plantctl rebuild" makes the partitions anew from the log while they serve; of an
emptied Redis a projector that runs does, or "plantctl rebuild --from-empty".
`

/** plantctl verify */
export const verify: Command = {
  summary: 'holds the read model to the log, and tells each difference',
  help,
  async run(args, context) {
    const { values } = readOptions(args, {
      partition: { type: 'string', multiple: true },
      json: { type: 'boolean' },
    })
    const store = await openStore(context)
    const progress = createReadingProgress(context, 'comparing')
    try {
      const asked = partitionsAmong(values.partition, store.partitions) ?? allPartitions(store.partitions)
      const verifier = createVerifier({
        ...{ generations: store.readModel.generations, partitions: store.partitions, time: systemTime },
        ends: async () => (await checkTopic(store.kafka, store)).ends,
        onBegin: progress.begin,
        read: logReader(store, context.signal, progress.onRead),
      })
      const verified = await verifier.verify(asked)
      await progress.end()
      await (values.json ? tellJson : tellInWords)(verified, context)
      return countOf(verified.findings) === 0 ? EXIT.done : EXIT.notAsItShouldBe
    } finally {
      await progress.end()
      await store.close()
    }
  },
}

async function tellJson({ partitions, findings }: Verified, { out }: CliContext): Promise<void> {
  await out(`${safeJson({ differences: findings.kept, more: findings.more, partitions })}\n`)
}

async function tellInWords(verified: Verified, { out, tell }: CliContext): Promise<void> {
  const { partitions, findings } = verified
  const count = countOf(findings)
  if (count === 0) {
    await out(`no difference: ${extentOf(verified)}\n`)
    return
  }
  const shown = findings.kept.slice(0, SHOWN_MAX)
  await out(
    shown.map((difference) => `${safeText(differenceInWords(difference), LINE_CHARACTERS)}\n`).join(''),
  )
  if (count > shown.length) await out(`… and ${grouped(count - shown.length)} more; --json tells them\n`)
  tell(`${counted(count, 'difference')}; compared were ${extentOf(verified)}\n`)
  const differing = new Set(
    findings.kept.flatMap((one) => (one.what === 'strangeKey' ? [] : [one.partition])),
  )
  const isEmpty = findings.kept.some(({ what }) => what === 'noGeneration')
  const options = partitions
    .filter(({ partition }) => differing.has(partition))
    .map(({ partition }) => ` --partition ${partition}`)
  if (isEmpty)
    tell('A projector that runs fills what is empty from the log; plantctl status tells how far it is.\n')
  if (differing.size > 0) {
    const which = options.length === partitions.length ? '' : options.join('')
    const fromEmpty = isEmpty ? ' --from-empty' : ''
    tell(`To make them anew from the log, while they serve: plantctl rebuild${fromEmpty}${which}\n`)
  }
  if (findings.kept.some(({ what }) => what === 'strangeKey')) {
    tell('What belongs to nothing is nobody’s here: see who wrote it, and delete it.\n')
  }
}

function extentOf({ partitions }: Verified): string {
  const plants = partitions.reduce((sum, one) => sum + one.plants, 0)
  const behind = partitions.reduce((sum, { upTo, end }) => sum + Math.max(0, end - 1 - upTo), 0)
  const lag = behind === 0 ? '' : `; ${counted(behind, 'record')} of the log lay beyond the checkpoints`
  return `${counted(plants, 'plant')} in ${counted(partitions.length, 'partition')}${lag}`
}
