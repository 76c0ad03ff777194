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

it.each([true, false])(
  'every command prints escaped text, and its lines and colours (a terminal: %s)',
  async (isTTY) => {
    const { context, stdout, stderr } = openOn({ isTTY })
    const paint = createPaint(context.colours)
    await context.print(`${paint('red', HOSTILE)}\n`)
    expect(stdout()).toBe(`${paint('red', ESCAPED)}\n`)
    await context.printResult(HOSTILE)
    expect(stdout()).toBe(ESCAPED)
    context.printError(HOSTILE)
    expect(stderr()).toBe(ESCAPED)
  },
)

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

it('a dumb terminal gets neither colours nor redrawn lines, and data as any terminal', async () => {
  const { context, stdout } = openOn({ isTTY: true, env: { TERM: 'dumb' } })
  expect(context).toMatchObject({ colours: false, stdoutIsTerminal: false, stderrIsTerminal: false })
  await context.printData(HOSTILE)
  expect(stdout()).toBe(ESCAPED)
})

it('a pipe gets no colours from anybody', async () => {
  const { context, stdout } = openOn({ isTTY: false })
  await context.print(createPaint(true)('red', 'text'))
  expect(stdout()).toBe('\\u001b[31mtext\\u001b[39m')
})

it('data is unchanged for a program, and the same value for a terminal', async () => {
  const data = JSON.stringify({ name: HOSTILE })
  const [program, terminal] = [openOn({ isTTY: false }), openOn({ isTTY: true })]
  for (const { context } of [program, terminal]) await context.printData(data)
  expect(program.stdout()).toBe(data)
  const shown = terminal.stdout()
  expect(shown).toContain('\\u009b2J \\u202e \\u2028')
  expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u)
  expect(JSON.parse(shown)).toEqual(JSON.parse(data))
})
