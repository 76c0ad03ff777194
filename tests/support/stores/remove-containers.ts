import { basename } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { registeredProjects } from '../test-run.ts'
import { RUN_LABEL } from './from-docker.ts'

// node tests/support/stores/remove-containers.ts RUN: removes the containers of a run of the tests, running,
// paused or ended, with their volumes, and its compose projects with all that is theirs.

const run = String(process.argv[2])
const { dockerode } = (await getContainerRuntimeClient()).container
await remove(`${RUN_LABEL}=${basename(run)}`)
for (const project of registeredProjects(run)) await remove(`com.docker.compose.project=${project}`)

async function remove(label: string): Promise<void> {
  const filters = { label: [label] }
  const containers = await dockerode.listContainers({ all: true, filters })
  await Promise.all(containers.map(({ Id }) => dockerode.getContainer(Id).remove({ force: true, v: true })))
  const networks = await dockerode.listNetworks({ filters })
  await Promise.all(networks.map(({ Id }) => dockerode.getNetwork(Id).remove()))
  const { Volumes } = await dockerode.listVolumes({ filters })
  await Promise.all((Volumes ?? []).map(({ Name }) => dockerode.getVolume(Name).remove()))
}
