type Node = Record<string, unknown>

/**
 * Converts the schemas of routes within `tree` to schemas of a description: one with a title becomes the component of
 * that name, and every int64 becomes an integer (the service handles it as a bigint in a body, as text in a path).
 * Returns the tree and the components, both new. Throws when two different schemas have the same title.
 */
export function extractComponents<T>(tree: T): { tree: T; schemas: Record<string, Node> } {
  const schemas: Record<string, Node> = {}

  function describe(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(describe)
    if (typeof node !== 'object' || node === null) return node
    const children: Node = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, describe(value)]))
    if (children.format === 'int64') children.type = 'integer'
    const { title, ...schema } = children
    if (typeof title !== 'string') return children
    const known = schemas[title]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two different schemas have the title ${title}`)
    }
    schemas[title] = schema
    return { $ref: `#/components/schemas/${title}` }
  }

  return { tree: describe(tree) as T, schemas }
}
