import { Failure } from '../../local/processes/failure.mjs'

/** Parses the value of an option: a whole number from 1 to `max`. Throws a Failure with what is expected. */
export function numberOf(name: string, text: string, max: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > max)
    throw new Failure(`--${name} ${text}: expected a whole number from 1 to ${max}`)
  return value
}
