import { expect, it } from 'vitest'
import { openScreen } from './screen.ts'

/** A terminal of so many rows that knows what is needed here: where it writes, clearing, and the other screen. */
function terminalOf(rows: number) {
  let screen: string[] = []
  let isOther = false
  return {
    async out(text: string): Promise<void> {
      if (text.includes('\x1b[?1049h')) isOther = true
      if (text.includes('\x1b[?1049l')) isOther = false
      const drawn = text.split('\x1b[H')[1]
      if (drawn === undefined) return
      expect(drawn.endsWith('\x1b[K\x1b[J')).toBe(true)
      screen = drawn.slice(0, -'\x1b[J'.length).split('\r\n')
      for (const line of screen) expect(line.endsWith('\x1b[K')).toBe(true)
      expect(screen.length).toBeLessThanOrEqual(rows)
    },
    shown: () => screen.map((line) => line.replace('\x1b[K', '')),
    isOther: () => isOther,
  }
}

it('each drawing takes the place of the one before, in one write; at the end the terminal is as it was', async () => {
  const terminal = terminalOf(3)
  const screen = openScreen(terminal)
  expect(terminal.isOther()).toBe(false)
  await screen.draw(['one', 'two'], 3)
  expect([terminal.isOther(), terminal.shown()]).toEqual([true, ['one', 'two']])
  await screen.draw(['1', '2', '3', '4'], 3)
  expect(terminal.shown()).toEqual(['1', '2', '… 2 more lines'])
  await screen.close()
  expect(terminal.isOther()).toBe(false)
})

it('what was never drawn changes nothing', async () => {
  const written: string[] = []
  await openScreen({ out: async (text) => void written.push(text) }).close()
  expect(written).toEqual([])
})
