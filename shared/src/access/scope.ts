/** What a token can be allowed to do. Each operation names the one that it takes. */
export const SCOPES = ['plants:write', 'plants:read'] as const

export type Scope = (typeof SCOPES)[number]

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text)
}

/** Those of the texts that are scopes here, each once and always in the same order. */
export function scopesAmong(texts: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => texts.includes(scope))
}
