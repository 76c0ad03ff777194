import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAppender } from '@plant-store/shared/event-log/append.ts'
import { checkTopic } from '@plant-store/shared/event-log/topic.ts'
import type { EventId } from '@plant-store/shared/plant/event-id.ts'
import { allPartitions } from '@plant-store/shared/plant/offset.ts'
import { type NewRecord, plantCreated } from '@plant-store/shared/plant/plant-created.ts'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { openRebuild } from '../services/projector/src/rebuild/open-rebuild.ts'
import { MAX_INT64, MIN_INT64, newPlant } from './support/generated-plants.ts'
import { createPlantStore, type PlantStore } from './support/plant-store.ts'
import { startPlantctl } from './support/plantctl.ts'
import { quietLog } from './support/quiet-log.ts'
import { openTemporaryFolder } from './support/temporary-folder.ts'
import { readTruth } from './support/truth.ts'

const stores = { kafkaBrokers: inject('kafkaBrokers'), redisUrl: inject('redisUrl') }
const WAIT_MS = 30_000

const plantctl = (store: PlantStore, ...args: string[]) => startPlantctl(args, store.environment).ended
