import { describeHttpCorners } from './support/http-corners.ts'

describeHttpCorners()
