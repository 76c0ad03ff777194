import { pick, type Random } from '../../simulation/random.ts'
import { BROKER_FAULTS } from './broker-faults.ts'
import type { Fault, Scene } from './fault.ts'
import { LINK_FAULTS } from './link-faults.ts'
import { OPERATIONS, UPGRADES } from './operations.ts'
import { PARTITION_FAULTS } from './partition-faults.ts'
import { PROCESS_FAULTS } from './process-faults.ts'
import { REDIS_FAULTS } from './redis-faults.ts'

const STORE_FAULTS = [...REDIS_FAULTS, ...BROKER_FAULTS, ...PARTITION_FAULTS]
const FAULTS = [...PROCESS_FAULTS, ...LINK_FAULTS, ...STORE_FAULTS, ...OPERATIONS]

/** Draws one fault. The same numbers draw the same fault. */
export const drawFault = (scene: Scene, random: Random): Fault =>
  pick(scene.hasTwoReleases ? [...FAULTS, ...UPGRADES] : FAULTS, random)(scene, random)
