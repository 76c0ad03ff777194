import { setTimeout as delay } from 'node:timers/promises'
import { getContainerRuntimeClient, getReaper, ImageName } from 'testcontainers'
import { storeImages, whyNoDocker as whyNoCompose } from '../../../local/stores/docker.ts'

const ANSWER_TIMEOUT_MS = 10_000
const PULL_TIMEOUT_MS = 600_000

/** The reason why containers cannot be used, if there is one. Gets the images that are missing. */
export async function whyNoDocker(): Promise<string | undefined> {
  // The system tests need compose, too.
  const obstacle = await whyNoCompose()
  if (obstacle !== undefined) return obstacle
  const client = await within(ANSWER_TIMEOUT_MS, getContainerRuntimeClient()).catch(() => undefined)
  if (!client) return 'no container runtime responds'
  for (const image of Object.values(storeImages())) {
    const name = ImageName.fromString(image)
    try {
      if (await client.image.exists(name)) continue
      console.log(`Getting the image ${image} …`)
      await within(PULL_TIMEOUT_MS, client.image.pull(name))
    } catch (error) {
      return `there is no image ${image}: ${messageOf(error)}`
    }
    // A pull that breaks off is no error to testcontainers.
    if (!(await client.image.exists(name))) return `there is no image ${image}`
  }
  try {
    // The reaper comes with the first container, as a separate container, and can fail where the others would not.
    await within(PULL_TIMEOUT_MS, getReaper(client))
  } catch (error) {
    return `testcontainers can't start its reaper: ${messageOf(error)}`
  }
  return undefined
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const limit = delay(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`no response for ${timeoutMs / 1000} s`)
  })
  return Promise.race([work, limit])
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trim() : String(error)
}
