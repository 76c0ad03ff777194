/**
 * Has `end` called before this process exits, also when a signal ends it; exit listeners are all that it has time for
 * then. Returns what calls it earlier instead.
 */
export function endWithProcess(end: () => void): () => void {
  const endNow = () => {
    process.off('exit', endNow)
    end()
  }
  process.once('exit', endNow)
  // A child that leads its own process group does not receive Ctrl-C. Not `once`: a second signal would end this
  // process before its exit listeners have run, and signal-exit, which comes with testcontainers, kills a process whose
  // listeners it takes for all gone.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, exitBySignal)
  return endNow
}

function exitBySignal(_name: NodeJS.Signals, number: number): void {
  process.exit(128 + number)
}
