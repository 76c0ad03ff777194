import { register } from 'node:module'

// `registerHooks` would run above the hook of Jazzer.js, which uses `register`.
register('./load-typescript.mjs', import.meta.url)
