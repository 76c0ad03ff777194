/** The scopes of tokens. Each operation requires one. */
export const SCOPES = ['plants:write', 'plants:read'] as const

export type Scope = (typeof SCOPES)[number]

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text)
}

/** The known scopes among these texts, each once and always in the same order. */
export function scopesAmong(texts: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => texts.includes(scope))
}
