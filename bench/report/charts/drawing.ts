/** The elements of a chart. Its background is opaque, so that it is readable on light and on dark pages. */

export const INK = '#111827'
export const QUIET = '#4b5563'
export const GRID = '#e5e7eb'

const GROUND = '#ffffff'
const CORNER = 12

export type Drawing = {
  width: number
  height: number
  title: string
  /** The text alternative, for screen readers. */
  description: string
  parts: readonly string[]
}

export function svg({ width, height, title, description, parts }: Drawing): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="14" role="img" aria-labelledby="title desc">`,
    `  <title id="title">${escaped(title)}</title>`,
    `  <desc id="desc">${escaped(description)}</desc>`,
    `  <rect width="${width}" height="${height}" rx="${CORNER}" fill="${GROUND}"/>`,
    ...parts.map((part) => `  ${part}`),
    '</svg>\n',
  ].join('\n')
}

export type Placed = { x: number; y: number }

export function text(
  { x, y }: Placed,
  content: string,
  {
    anchor = 'start',
    fill = INK,
    size,
    bold = false,
  }: { anchor?: string; fill?: string; size?: number; bold?: boolean } = {},
): string {
  const more = `${size === undefined ? '' : ` font-size="${size}"`}${bold ? ' font-weight="600"' : ''}`
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" fill="${fill}"${more}>${escaped(content)}</text>`
}

export function box({ x, y }: Placed, width: number, height: number, fill: string, description = ''): string {
  const title = description === '' ? '' : `<title>${escaped(description)}</title>`
  return `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" fill="${fill}">${title}</rect>`
}

export function line(from: Placed, to: Placed, stroke: string, width = 1): string {
  return `<path d="M${at(from.x)} ${at(from.y)}L${at(to.x)} ${at(to.y)}" stroke="${stroke}" stroke-width="${width}" fill="none"/>`
}

export function dot({ x, y }: Placed, radius: number, fill: string, description: string): string {
  return `<circle cx="${at(x)}" cy="${at(y)}" r="${radius}" fill="${fill}"><title>${escaped(description)}</title></circle>`
}

/** To a tenth of a unit. */
function at(value: number): number {
  if (!Number.isFinite(value)) throw new Error(`${value} is no place in a drawing`)
  return Math.round(value * 10) / 10
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
