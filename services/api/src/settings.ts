import { Port, SERVICE_SETTINGS } from '@plant-store/shared/process/settings.ts'
import { Type } from 'typebox'

/** Settings of the api; the README's table says what each is for. */
export const ApiSettings = Type.Object({
  ...SERVICE_SETTINGS,
  PORT: Port(3000),
  OPS_PORT: Port(3100),
  PLANT_STORE_TOKEN_DIGESTS: Type.Optional(Type.String()),
  PLANT_STORE_TOKEN_DIGESTS_FILE: Type.Optional(Type.String()),
  CREATE_DEADLINE_MS: Type.Integer({ minimum: 100, maximum: 120_000, default: 10_000 }),
  READ_DEADLINE_MS: Type.Integer({ minimum: 0, maximum: 120_000, default: 2_000 }),
  WINDOW_MAX_MIB: Type.Integer({ minimum: 1, maximum: 16_384, default: 128 }),
})
