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
  const errors: unknown[] = []
  const settled = works.map((work) =>
    work(either).catch((error) => {
      errors.push(error)
      siblings.abort('a step beside this one failed')
    }),
  )
  const values = await Promise.all(settled)
  if (errors.length > 0) throw errors[0]
  return values as Values
}
