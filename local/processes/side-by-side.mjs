/**
 * Runs several tasks concurrently. The first failure aborts the others through their signal. It waits for all of
 * them in any case, so that nothing stays half started.
 *
 * @template {((signal: AbortSignal) => Promise<unknown>)[]} Works
 * @param {AbortSignal} signal
 * @param {Works} works
 * @returns {Promise<{ [Index in keyof Works]: Awaited<ReturnType<Works[Index]>> }>}
 */
export async function sideBySide(signal, ...works) {
  const siblings = new AbortController()
  const either = AbortSignal.any([signal, siblings.signal])
  /** @type {unknown[]} */
  const errors = []
  const settled = works.map((work) =>
    work(either).catch((error) => {
      errors.push(error)
      siblings.abort('a step beside this one failed')
    }),
  )
  const values = await Promise.all(settled)
  if (errors.length > 0) throw errors[0]
  return /** @type {any} */ (values)
}
