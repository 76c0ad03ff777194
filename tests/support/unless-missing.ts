import { Failure } from '../../local/processes/failure.mjs'

/**
 * Finds what a test needs and a machine may lack. Undefined, with a warning, where it cannot be had. Continuous
 * integration must have it.
 */
export async function unlessMissing<T>(what: string, find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find()
  } catch (error) {
    if (!(error instanceof Failure) || process.env.CI) throw error
    console.warn(`${what} not tried: ${error.message}`)
    return undefined
  }
}
