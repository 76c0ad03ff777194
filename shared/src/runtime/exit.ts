/** Operations in a thread: of a file, or of the resolver of names. */
const IN_THREAD = /^(?:FSReq|GetAddrInfo|GetNameInfo)/

/**
 * Ends the process. The exit of Node waits for its threads, and so for a file system or a name server that does not
 * respond, perhaps permanently. With operations there, the process becomes another one, which only ends.
 */
export function exitNow(code: number): never {
  const [node, script] = [process.execPath, `process.exit(${code})`]
  // Absent on Windows.
  if (process.getActiveResourcesInfo().some((name) => IN_THREAD.test(name)))
    process.execve?.(node, [node, '--no-warnings', '--eval', script], {})
  process.exit(code)
}
