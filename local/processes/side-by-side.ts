/**
 * Runs several tasks concurrently. The first failure aborts the others through their signal. It waits for all of
 * them in any case, so that nothing stays half started.
 */
export async function sideBySide<Values extends unknown[]>(
  signal: AbortSignal,
  ...works: { [Index in keyof Values]: (signal: AbortSignal) => Promise<Values[Index]> }
): Promise<Values> {
  const siblings = new AbortController()
  const either = AbortSignal.any([signal, siblings.signal])
  const running = works.map((work) => work(either))
  try {
    return (await Promise.all(running)) as Values
  } catch (error) {
    siblings.abort('a step beside this one failed')
    await Promise.allSettled(running)
    throw error
  }
}
