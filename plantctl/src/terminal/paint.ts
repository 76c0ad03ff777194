import { styleText } from 'node:util'

type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'bold' | 'dim'

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: Colour, text: string) => string

export function createPaint(colours: boolean): Paint {
  return colours
    ? (colour, text) => styleText(colour, text, { validateStream: false })
    : (_colour, text) => text
}
