import { expect, it } from 'vitest'
import { openScreen } from './screen.ts'

/** A terminal with `rows` rows that knows the escapes used here: home, clearing, and the alternate screen. */
function terminalOf(rows: number) {
  let screen: string[] = []
  let isAlternate = false
  return {
    colours: false,
    async draw(text: string): Promise<void> {
      if (text.includes('\x1b[?1049h')) isAlternate = true
      if (text.includes('\x1b[?1049l')) isAlternate = false
      const drawn = text.split('\x1b[H')[1]
      if (drawn === undefined) return
      expect(drawn.endsWith('\x1b[K\x1b[J')).toBe(true)
      screen = drawn.slice(0, -'\x1b[J'.length).split('\r\n')
      for (const line of screen) expect(line.endsWith('\x1b[K')).toBe(true)
      expect(screen.length).toBeLessThanOrEqual(rows)
    },
    shown: () => screen.map((line) => line.replace('\x1b[K', '')),
    isAlternate: () => isAlternate,
  }
}

it('replaces the previous drawing in one write, and restores the terminal at the end', async () => {
  const terminal = terminalOf(3)
  const screen = openScreen(terminal)
  expect(terminal.isAlternate()).toBe(false)
  await screen.draw(['one', 'two'], 3)
  expect([terminal.isAlternate(), terminal.shown()]).toEqual([true, ['one', 'two']])
  await screen.draw(['1', '2', '3', '4'], 3)
  expect(terminal.shown()).toEqual(['1', '2', '… 2 more lines'])
  await screen.close()
  expect(terminal.isAlternate()).toBe(false)
})

it('restores the terminal when the process exits before the end', async () => {
  const terminal = terminalOf(3)
  const before = process.listeners('exit')
  const screen = openScreen(terminal)
  await screen.draw(['one'], 3)
  for (const onExit of process.listeners('exit').slice(before.length)) onExit(0)
  expect(terminal.isAlternate()).toBe(false)
  await screen.close()
  expect(process.listeners('exit')).toEqual(before)
})

it('writes nothing when nothing was drawn', async () => {
  const written: string[] = []
  await openScreen({ colours: false, draw: async (text) => void written.push(text) }).close()
  expect(written).toEqual([])
})
