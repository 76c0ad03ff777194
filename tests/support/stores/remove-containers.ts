import { getContainerRuntimeClient } from 'testcontainers'
import { RUN_LABEL } from './from-docker.ts'

// node tests/support/stores/remove-containers.ts RUN: removes the containers of a run of the tests, running,
// paused or ended, with their volumes.

const { container } = await getContainerRuntimeClient()
const filters = { label: [`${RUN_LABEL}=${process.argv[2]}`] }
const found = await container.dockerode.listContainers({ all: true, filters })
await Promise.all(found.map(({ Id }) => container.getById(Id).remove({ force: true, v: true })))
