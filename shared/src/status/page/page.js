// Runs in the browser: asks the operations port once a second, and draws what it gets.

const EVERY_MS = 1_000
const LOST_AFTER_MS = 5_000
const KEPT_MS = 15 * 60_000
const CHART_HEIGHT = 150

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const PERCENT = new Intl.NumberFormat('en', { style: 'percent' })
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const LATENCY = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
/** The checkpoint of a read model that has passed no record. */
const BEFORE_FIRST = -1
const isMissing = (value) => value === null || value === undefined
const count = (value) => (isMissing(value) ? '?' : NUMBER.format(value))
const latency = (value) => (isMissing(value) ? '–' : `${LATENCY.format(value)} ms`)

/** The title of the first chart, by kind of service. */
const WORK = { api: 'creates a second', projector: 'records a second' }
const CHARTS = [
  {
    title: (service) => WORK[service],
    series: [{ name: 'perSecond', label: '', colour: '--leaf', text: count }],
  },
  {
    title: (service) => (service === 'api' ? 'time of a create' : 'time of a batch'),
    // One slow second would flatten all others.
    isLogarithmic: true,
    series: [
      { name: 'p50Ms', label: 'median', colour: '--leaf', text: latency },
      { name: 'p99Ms', label: '99 %', colour: '--water', text: latency },
    ],
  },
  {
    title: (service) => `records ${service === 'api' ? 'not known to be' : 'not yet'} in the read model`,
    series: [{ name: 'lag', label: '', colour: '--warn', text: count }],
  },
]

const byId = (id) => document.getElementById(id)

/** An element with attributes and children; texts are never parsed. */
function element(tag, attributes, ...children) {
  const made = Object.assign(document.createElement(tag), attributes)
  made.append(...children)
  return made
}

let samples = []
let charts = []
let answeredAt = Date.now()

async function update() {
  try {
    const since = samples.at(-1)?.time ?? 0
    const response = await fetch(`live?since=${since}`, { signal: AbortSignal.timeout(LOST_AFTER_MS) })
    if (!response.ok) throw new Error(`the service responds with ${response.status}`)
    const live = await response.json()
    answeredAt = Date.now()
    draw(live)
  } catch {
    const seconds = Math.round((Date.now() - answeredAt) / 1_000)
    setVerdict('wrong', `Connection lost: the service has not responded for ${seconds} s.`)
    markAsOld(true)
  }
}

function draw(live) {
  const { service, version, startedAt, now, status } = live
  setVerdict(...verdictOf(live))
  document.title = `Plant Store ${service}`
  byId('process').textContent = `Plant Store ${service} ${version}, running for ${duration(now - startedAt)}`
  // The clock of the service may have been set back.
  samples = [...samples.filter(({ time }) => !(time >= live.samples[0]?.time)), ...live.samples]
  samples = samples.filter(({ time }) => time > samples.at(-1).time - KEPT_MS)
  drawCharts(service)
  const isOld = status.error !== undefined || status.ageMs > LOST_AFTER_MS
  markAsOld(isOld)
  if (status.value === undefined) return
  drawFlow(service, status.value, isOld)
  drawRebuild(status.value)
  drawPartitions(status.value)
  drawReaders(status.value)
  drawRemarks(status.value)
}

/** Dims the numbers that are not those of this moment. */
function markAsOld(isOld) {
  document.querySelector('main').toggleAttribute('data-old', isOld)
}

function setVerdict(state, text) {
  const verdict = byId('verdict')
  // A screen reader says each change, so only changes are written.
  if (verdict.textContent !== text) verdict.textContent = text
  verdict.dataset.state = state
}

/** One sentence: all well, or what is wrong and what to do. */
function verdictOf({ service, ready, reasons, status }) {
  if (!ready) return ['wrong', `This ${service} is not ready: ${reasons.join('; ')}.`]
  if (status.error !== undefined) {
    const age = status.value === undefined ? '' : ` Below is their state ${duration(status.ageMs)} ago.`
    return ['wrong', `The state of the stores cannot be read: ${status.error}.${age}`]
  }
  if (status.value === undefined) return ['waiting', 'Reading the state of the stores …']
  const [first, ...more] = status.value.problems
  if (first === undefined) return ['well', 'All is well.']
  return ['wrong', `${capitalised(first)}.${more.length === 0 ? '' : ` ${more.length} more below.`}`]
}

function drawFlow(service, { totals, partitions }, isOld) {
  const card = (name, value, unit) =>
    element('li', {}, name, element('strong', {}, value), element('span', { className: 'unit' }, unit))
  const { perSecond: rate, window: used, tableLag } = samples.at(-1) ?? {}
  const window = used === undefined ? '' : `, window ${PERCENT.format(used)} used`
  byId('flow').replaceChildren(
    card(`This ${service}`, count(rate), `${WORK[service]}${window}`),
    card('Log', count(totals.offsets), `offsets in ${count(partitions.length)} partitions`),
    card('Read model', count(totals.plants), `plants, ${count(isOld ? null : totals.lag)} records behind`),
    ...(tableLag === undefined
      ? []
      : [card('Table', count(tableLag), 'records behind, in the partitions of this projector')]),
  )
}

function drawRebuild({ partitions }) {
  const filling = partitions.filter((one) => one.filling)
  const section = byId('rebuild')
  section.hidden = filling.length === 0
  if (section.hidden) return
  const passed = filling.reduce((sum, one) => sum + one.filling.checkpoint + 1, 0)
  const end = filling.reduce((sum, one) => sum + (one.end ?? 0), 0)
  section.querySelector('progress').value = end === 0 ? 1 : passed / end
  section.querySelector('p').textContent =
    `${count(passed)} of ${count(end)} offsets of ${count(filling.length)} partitions are in the new generation.`
}

const COLUMNS = [
  ['partition', (one) => count(one.partition)],
  ['log end', (one) => count(one.end)],
  ['checkpoint', (one) => (one.checkpoint === BEFORE_FIRST ? 'none' : count(one.checkpoint))],
  ['lag', (one) => count(one.lag)],
  ['plants', (one) => count(one.plants)],
  ['voids', (one) => count(one.voids)],
  ['parked', (one) => count(one.parked)],
]

function drawPartitions({ partitions }) {
  const head = COLUMNS.map(([title]) => element('th', { scope: 'col' }, title))
  byId('partitions').tHead.replaceChildren(element('tr', {}, ...head))
  const classOf = (title, { lag }) => (title === 'lag' && lag > 0 ? 'behind' : '')
  const cells = (one) => COLUMNS.map(([title, of]) => element('td', { className: classOf(title, one) }, of(one)))
  byId('partitions').tBodies[0].replaceChildren(...partitions.map((one) => element('tr', {}, ...cells(one))))
}

function drawReaders({ projectors, apis, rebuilds, replays, partitions }) {
  const text = (kind, { host, id, partitions: assigned }, members) => {
    const isAlone = members.filter((other) => other.host === host).length === 1
    const isAll = assigned?.length === partitions.length
    return `${kind} at ${host}${isAlone ? '' : ` (${id})`}: ${isAll ? 'all' : count(assigned?.length)} partitions`
  }
  const kinds = Object.entries({ projector: projectors, api: apis, rebuild: rebuilds, replay: replays })
  const texts = kinds.flatMap(([kind, members]) => members.map((one) => text(kind, one, members)))
  byId('readers').replaceChildren(...(texts.length === 0 ? ['none'] : texts).map((one) => element('li', {}, one)))
}

function drawRemarks({ problems, notices }) {
  const items = (texts, className) => texts.map((text) => element('li', { className }, capitalised(text)))
  byId('remarks').hidden = problems.length + notices.length === 0
  document.querySelector('#remarks ul').replaceChildren(...items(problems, 'problem'), ...items(notices, ''))
}

function drawCharts(service) {
  if (charts.length === 0) charts = CHARTS.map((chart) => createChart(chart, service))
  for (const chart of charts) chart.draw()
}

function createChart({ title, series, isLogarithmic = false }, service) {
  const numbers = series.map(() => element('b', {}))
  const caption = element('figcaption', {}, `${capitalised(title(service))}: `)
  for (const [n, { label, colour }] of series.entries()) {
    const key = element('i', {})
    key.style.background = `var(${colour})`
    caption.append(n === 0 ? '' : ', ', key, numbers[n], label && ` ${label}`)
  }
  const figure = element('figure', {}, caption)
  byId('charts').append(figure)
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name)
  const axis = { stroke: () => colour('--quiet'), grid: { stroke: () => colour('--line') }, ticks: { show: false } }
  const plot = new window.uPlot(
    {
      width: figure.clientWidth,
      height: CHART_HEIGHT,
      ms: 1,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: isLogarithmic ? { distr: 3, range: decades } : { range: fromZero } },
      axes: [
        { ...axis, space: 90, size: 30, values: (_plot, ticks) => ticks.map((tick) => TIME.format(tick)) },
        {
          ...axis,
          size: 70,
          ...(isLogarithmic && { splits: powersOfTen }),
          values: (_plot, ticks) => ticks.map((tick) => tickText(tick, series[0].text)),
        },
      ],
      series: [
        {},
        ...series.map((one) => ({
          stroke: () => colour(one.colour),
          width: 1.5,
          points: { show: false, filter: singles, size: 4, fill: () => colour(one.colour) },
        })),
      ],
    },
    [[], ...series.map(() => [])],
    figure,
  )
  new ResizeObserver(() => plot.setSize({ width: figure.clientWidth, height: CHART_HEIGHT })).observe(figure)
  return {
    draw() {
      plot.setData(['time', ...series.map(({ name }) => name)].map((name) => samples.map((one) => one[name])))
      for (const [n, { name, text }] of series.entries()) numbers[n].textContent = text(samples.at(-1)?.[name])
    },
  }
}

const fromZero = (_plot, _least, most) => [0, Math.max(1, most * 1.1)]

/** The range of a logarithmic axis, and its ticks: whole powers of ten. */
function decades(_plot, least, most) {
  const low = Math.floor(Math.log10(least || 1))
  return [10 ** low, 10 ** Math.max(low + 1, Math.ceil(Math.log10(most || 1)))]
}

function powersOfTen(_plot, _axis, least, most) {
  const low = Math.round(Math.log10(least))
  return Array.from({ length: Math.round(Math.log10(most)) - low + 1 }, (_, n) => 10 ** (low + n))
}

/** The plot leaves out most ticks of a logarithmic axis; counts have no fractions. */
function tickText(tick, text) {
  return tick === null || (text === count && !Number.isInteger(tick)) ? '' : text(tick)
}

/** The indices of the values without a neighbour, to which no line leads. */
function singles(plot, series) {
  const values = plot.data[series]
  return [...values.keys()].filter((n) => !isMissing(values[n]) && isMissing(values[n - 1]) && isMissing(values[n + 1]))
}

function duration(ms) {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return `${Math.floor(ms / 1_000)} s`
  if (minutes < 60) return `${minutes} min`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

while (true) {
  await update()
  await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
}
