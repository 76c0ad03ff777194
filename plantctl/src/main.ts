#!/usr/bin/env node
import { exitNow } from '@plant-store/shared/runtime/exit.ts'
import { onSignal } from '@plant-store/shared/runtime/signals.ts'
import { EXIT } from './command.ts'

onSignal(() => exitNow(EXIT.interrupted))
// Not a static import: all of those are loaded before the first one is evaluated.
await import('./run.ts')
