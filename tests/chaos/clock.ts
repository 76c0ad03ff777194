import { readFileSync } from 'node:fs'

// Loaded before a service by --import. The time of day is off by as many ms as CLOCK_FILE says, which is read at the
// start and at each SIGUSR2. Timers and `performance.now()` follow the monotonic clock, which does not jump on real
// machines either.

const file = process.env.CLOCK_FILE ?? ''
const RealDate = Date
let offMs = read()
process.on('SIGUSR2', () => {
  offMs = read()
})

function read(): number {
  return Number(readFileSync(file, 'utf8'))
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + offMs] : args, newTarget),
  get: (target, name, receiver) =>
    name === 'now' ? () => RealDate.now() + offMs : Reflect.get(target, name, receiver),
})
