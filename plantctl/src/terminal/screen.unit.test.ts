import { expect, it } from 'vitest'
import { openScreen } from './screen.ts'

const [ENTER, LEAVE] = ['\x1b[?1049h', '\x1b[?1049l']

/** A screen of three rows, and what was written to its terminal. */
function openRecorded() {
  const written: string[] = []
  const screen = openScreen({ colours: false, draw: async (text) => void written.push(text) })
  return { written, draw: (...lines: string[]) => screen.draw(lines, 3), close: screen.close }
}

it('replaces the previous drawing in one write, and restores the terminal at the end', async () => {
  const { written, draw, close } = openRecorded()
  await close()
  expect(written).toEqual([])
  await draw('one', 'two')
  await draw('1', '2', '3', '4')
  await close()
  expect(written).toEqual([
    expect.stringContaining(ENTER),
    '\x1b[H1\x1b[K\r\n2\x1b[K\r\n… 2 more lines\x1b[K\x1b[J',
    expect.stringContaining(LEAVE),
  ])
})

it('restores the terminal when the process exits before the end', async () => {
  const before = process.listeners('exit')
  const { written, draw, close } = openRecorded()
  await draw('one')
  for (const onExit of process.listeners('exit').slice(before.length)) onExit(0)
  expect(written.at(-1)).toContain(LEAVE)
  await close()
  expect(process.listeners('exit')).toEqual(before)
})
