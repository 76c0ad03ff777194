import { grouped } from './quantity.ts'

/** Work whose size is known: so many of so many are passed; all but those passed before, in so long. */
export type Done = { passed: number; before: number; of: number; elapsedMs: number }

const BAR_CHARACTERS = 24
/** With less room than this there is no bar, the figures alone. */
const ROOM_FOR_A_BAR = 80

/** `[######------]  50 %  1,000 of 2,000 events, 500/s, 2 s left  what` */
export function progressBar(done: Done, what: string, columns: number): string {
  const { passed, of } = done
  const share = of === 0 ? 1 : Math.min(passed / of, 1)
  const filled = Math.floor(share * BAR_CHARACTERS)
  const bar = columns < ROOM_FOR_A_BAR ? '' : `[${'#'.repeat(filled).padEnd(BAR_CHARACTERS, '-')}] `
  const percent = `${Math.floor(share * 100)}`.padStart(3)
  return `${bar}${percent} %  ${grouped(passed)} of ${grouped(of)} events${paceOf(done)}  ${what}`.trimEnd()
}

function paceOf({ passed, before, of, elapsedMs }: Done): string {
  const perSecond = ((passed - before) / elapsedMs) * 1_000
  if (!Number.isFinite(perSecond) || perSecond < 1) return ''
  const left = passed < of ? `, ${lasting(((of - passed) / perSecond) * 1_000)} left` : ''
  return `, ${grouped(Math.round(perSecond))}/s${left}`
}

/** `0.8 s`, `12 s`, `3 min 20 s`, `2 h 5 min` */
export function lasting(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
