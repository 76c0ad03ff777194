/** The output of Node's --cpu-prof: a tree of calls, and the call that each sample met. Times are in microseconds. */
export type CpuProfile = {
  startTime: number
  nodes: CpuNode[]
  samples: number[]
  /** Since the sample before. */
  timeDeltas: number[]
}
export type CpuNode = {
  id: number
  callFrame: { functionName: string; url: string }
  children?: number[]
}
export type Interval = { from: number; to: number }

/** A package, with the folder of its source if it has one; a folder of this project. */
const PACKAGE = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(?:\/src(\/[^/]+)\/)?/
const FOLDER = /\/((?:services\/)?[^/]+)\/src(\/[^/]+(?=\/))?/
const GARBAGE_COLLECTOR = 'garbage collector'
const NATIVE = 'native code'
const NODE = 'Node: HTTP, sockets, timers'
const OTHER = 'other files'

/** The time of the process by subsystem, without idle time. Time in Node's own functions counts for their caller. */
export function timeBySubsystem(profile: CpuProfile, { from, to }: Interval): Map<string, number> {
  const names = subsystemsOf(profile.nodes)
  const spent = new Map<string, number>()
  let at = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    const took = profile.timeDeltas[index] as number
    at += took
    const name = names.get(id)
    if (name !== undefined && at >= from && at < to) spent.set(name, (spent.get(name) ?? 0) + took)
  }
  return spent
}

/** The subsystem of each node of the tree; none for the idle. */
function subsystemsOf(nodes: readonly CpuNode[]): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const names = new Map<number, string>()
  const toVisit = nodes.slice(0, 1).map((node) => ({ node, caller: NODE }))
  for (let next = toVisit.pop(); next !== undefined; next = toVisit.pop()) {
    const { node, caller } = next
    const name = subsystemOf(node.callFrame, caller)
    if (node.callFrame.functionName !== '(idle)') names.set(node.id, name)
    for (const id of node.children ?? []) toVisit.push({ node: byId.get(id) as CpuNode, caller: name })
  }
  return names
}

function subsystemOf({ functionName, url }: CpuNode['callFrame'], caller: string): string {
  if (functionName === '(garbage collector)') return GARBAGE_COLLECTOR
  if (functionName === '(program)') return NATIVE
  if (url === '' || url.startsWith('node:')) return caller
  const [, place, folder = ''] = PACKAGE.exec(url) ?? FOLDER.exec(url) ?? [undefined, OTHER]
  return place + folder
}
