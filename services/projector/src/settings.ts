import { Port, SERVICE_SETTINGS } from '@plant-store/shared/runtime/settings.ts'
import { Type } from 'typebox'

/** Settings of the projector; the README's table says what each is for. */
export const ProjectorSettings = Type.Object({
  ...SERVICE_SETTINGS,
  OPS_PORT: Port(3101),
})
