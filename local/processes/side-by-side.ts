type Values<Works extends readonly unknown[]> = {
  [Index in keyof Works]: Works[Index] extends (signal: AbortSignal) => Promise<infer Value> ? Value : never
}

/**
 * Runs several tasks concurrently. The first failure aborts the others through their signal. It waits for all of
 * them in any case, so that nothing stays half started.
 */
export async function sideBySide<Works extends ((signal: AbortSignal) => Promise<unknown>)[]>(
  signal: AbortSignal,
  ...works: Works
): Promise<Values<Works>> {
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
  return values as Values<Works>
}
