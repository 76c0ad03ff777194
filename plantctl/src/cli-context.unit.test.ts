import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { openCliContext } from './cli-context.ts'
import { createPaint } from './terminal/layout.ts'

/** A process whose stdout and stderr are both terminals or both pipes, and what was written to them. */
function openOn({ isTTY, env = {} }: { isTTY: boolean; env?: NodeJS.ProcessEnv }) {
  const [stdout, stderr] = [0, 1].map(() => Object.assign(new PassThrough(), { isTTY, columns: 80, rows: 24 }))
  const process = { env, stdout, stderr } as unknown as NodeJS.Process
  return {
    context: openCliContext(process, new AbortController().signal),
    stdout: () => String(stdout?.read() ?? ''),
    stderr: () => String(stderr?.read() ?? ''),
  }
}

/** A sequence that clears the screen, as CSI of 7 and of 8 bits, a direction override, a line separator. */
const HOSTILE = '\x1b[2J \x9b2J \u202e \u2028 \r'
const ESCAPED = '\\u001b[2J \\u009b2J \\u202e \\u2028 \\u000d'

it.each([
  [true, '\x1b[31m', '\x1b[39m'],
  [false, '\\u001b[31m', '\\u001b[39m'],
])('every command prints escaped text, and colours to a terminal alone (a terminal: %s)', async (isTTY, red, end) => {
  const { context, stdout, stderr } = openOn({ isTTY })
  expect(context.colours).toBe(isTTY)
  await context.print(`${createPaint(true)('red', HOSTILE)}\n`)
  expect(stdout()).toBe(`${red}${ESCAPED}${end}\n`)
  await context.printResult(HOSTILE)
  expect(stdout()).toBe(ESCAPED)
  context.printError(HOSTILE)
  expect(stderr()).toBe(ESCAPED)
})

it('messages are printed above the progress line of a terminal, which stays in one line', () => {
  const { context, stderr } = openOn({ isTTY: true })
  const clear = '\r\x1b[K'
  context.drawProgress('10 %')
  expect(stderr()).toBe('10 %')
  context.printError('! a warning\n')
  expect(stderr()).toBe(`${clear}! a warning\n10 %`)
  context.drawProgress(HOSTILE.repeat(80))
  expect(stderr()).toBe(clear + ESCAPED.repeat(80).slice(0, 79))
  context.endProgress()
  context.printError('the end\n')
  expect([stderr(), stderr()]).toEqual(['\n', 'the end\n'])
})

it('data is unchanged for a program, and for a terminal the same value; a dumb one is not redrawn', async () => {
  const data = JSON.stringify({ name: HOSTILE })
  const [program, terminal] = [openOn({ isTTY: false }), openOn({ isTTY: true, env: { TERM: 'dumb' } })]
  for (const { context } of [program, terminal]) {
    expect(context).toMatchObject({ colours: false, stdoutIsTerminal: false, stderrIsTerminal: false })
    await context.printData(data)
  }
  expect(program.stdout()).toBe(data)
  const shown = terminal.stdout()
  expect(shown).toContain('\\u009b2J \\u202e \\u2028')
  expect(JSON.parse(shown)).toEqual(JSON.parse(data))
})
