import type { Scope } from '@plant-store/shared/access/scope.ts'

/**
 * Who sent a request: a token's label, or issuer and subject of a JWT behind `jwt:`, which no label can hold. It
 * outlives the token, so that a rotation breaks no retry.
 */
export type Caller = string

/** What a token that is accepted stands for. */
export type Access = { caller: Caller; scopes: readonly Scope[] }

/**
 * A way of telling whose a token is. Undefined when it does not know the token; throws an HttpError when it knows it, and
 * does not accept it or can't tell at the moment.
 */
export type Strategy = (token: string) => Promise<Access | undefined>
