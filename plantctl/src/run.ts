import { exitNow } from '@plant-store/shared/runtime/exit.ts'
import { onSignal } from '@plant-store/shared/runtime/signals.ts'
import { openCliContext } from './cli-context.ts'
import { EXIT } from './command.ts'
import { runCommand } from './run-command.ts'

// The operator's command line. Only the result of a command goes to stdout, so that scripts can read it.

/** An interrupted command that has not ended by then is abandoned: Kafka or Redis may not respond. */
const INTERRUPT_TIMEOUT_MS = 5_000

const interruption = new AbortController()
onSignal((name) => {
  const end = () => exitNow(EXIT.interrupted)
  onSignal(end)
  setTimeout(end, INTERRUPT_TIMEOUT_MS).unref()
  interruption.abort(new Error(`interrupted by ${name}`))
})
const context = openCliContext(process, interruption.signal)
const [first, ...others] = process.argv.slice(2)
exitNow(await runCommand(first === 'help' ? [...others, '--help'] : process.argv.slice(2), context))
