import { Port, SERVICE_SETTINGS } from '@plant-store/shared/runtime/settings.ts'
import { Type } from 'typebox'

/** Settings of the projector; docs/reference/settings.md explains each. */
export const ProjectorSettings = Type.Object({
  ...SERVICE_SETTINGS,
  OPS_PORT: Port(3101),
})
