import { ErrorBody } from '@plant-store/api/src/http/errors.ts'
import { Value } from 'typebox/value'
import { expect } from 'vitest'

/** Expects the Error of the specification, and nothing beside it. */
export function expectErrorShape(body: unknown): void {
  expect(Value.Check(ErrorBody, body)).toBe(true)
  expect(Object.keys(body as object).sort()).toEqual(['error', 'message'])
}
