type Node = Record<string, unknown>

/**
 * Makes schemas of routes those of a description, wherever they are within `tree`: one with a title becomes the
 * component of that name, and every int64 is an integer, however it arrives in the service (as a bigint in a body, as
 * text in a path). Returns the tree and the components, both new. Throws when two schemas that differ have one title.
 */
export function takeOutComponents<T>(tree: T): { tree: T; schemas: Record<string, Node> } {
  const schemas: Record<string, Node> = {}

  function describe(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(describe)
    if (typeof node !== 'object' || node === null) return node
    const children: Node = Object.fromEntries(
      Object.entries(node).map(([key, value]) => [key, describe(value)]),
    )
    if (children.format === 'int64') children.type = 'integer'
    const { title, ...schema } = children
    if (typeof title !== 'string') return children
    const known = schemas[title]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas that differ have the title ${title}`)
    }
    schemas[title] = schema
    return { $ref: `#/components/schemas/${title}` }
  }

  return { tree: describe(tree) as T, schemas }
}
