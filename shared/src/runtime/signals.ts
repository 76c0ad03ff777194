import { exitNow } from './exit.ts'

type Signal = 'SIGTERM' | 'SIGINT'

/** Until there is a listener, nothing is open. */
let listener: (signal: Signal) => void = () => exitNow(0)

// A process loads this module first: the process 1 of a container ignores a signal that has no handler.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => listener(signal))

/** Has `next` handle each SIGTERM and SIGINT from now on. */
export function onSignal(next: typeof listener): void {
  listener = next
}
