// Runs in the browser. Swagger UI parses everything that it shows, and a browser's numbers keep about 15 digits. So
// each number that would change is a marked string while it is parsed, and a number again when it is shown.

const MARK = '\u{e000}number:'
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g')

function parseMarked(json, revive) {
  const mark = (token) => (token[0] === '"' || String(Number(token)) === token ? token : `"${MARK}${token}"`)
  return JSON.parse(json.replace(TEXT_OR_NUMBER, mark), revive)
}

function showExactly(value) {
  return JSON.stringify(value, null, 2).replace(MARKED, '$1')
}

/** The dark style of Swagger UI, where the system has one. */
const dark = matchMedia('(prefers-color-scheme: dark)')
const applyScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', applyScheme)
applyScheme()

/** An example with a marked number becomes a string. */
function reviveExample(key, value) {
  return key === 'value' && JSON.stringify(value).includes(MARK) ? showExactly(value) : value
}

const ExactNumbers = {
  /** An example that is a string is shown and sent unchanged; Swagger UI would parse it. */
  afterLoad() {
    const { getSampleSchema } = this.fn
    this.fn.getSampleSchema = (schema, type, options, example) =>
      typeof example === 'string' && /json/.test(type) ? example : getSampleSchema(schema, type, options, example)
  },

  wrapComponents: {
    responseBody: (Original, { React }) =>
      function ExactBody(props) {
        const shown = /json/i.test(props.contentType) && tryShow(props.content)
        if (!shown) return React.createElement(Original, props)
        const HighlightCode = props.getComponent('HighlightCode', true)
        const options = { language: 'json', downloadable: true, canCopy: true, fileName: 'response.json' }
        return React.createElement(
          'div',
          null,
          React.createElement('h5', null, 'Response body'),
          React.createElement(HighlightCode, options, shown),
        )
      },
  },
}

/** Undefined for what is not JSON. */
function tryShow(content) {
  try {
    return showExactly(parseMarked(content))
  } catch {
    return undefined
  }
}

/** The table of error numbers comes after the operations. */
const ErrorTable = {
  wrapComponents: {
    Models: (Original, { React, specSelectors }) =>
      function ErrorsAndModels(props) {
        const Markdown = props.getComponent('Markdown', true)
        const source = specSelectors.specJson().getIn(['components', 'schemas', 'Error', 'description'])
        return React.createElement(
          'div',
          null,
          React.createElement('h2', null, 'Errors'),
          React.createElement(Markdown, { source }),
          React.createElement(Original, props),
        )
      },
  },
}

const description = await fetch('openapi.json')
window.SwaggerUIBundle({
  spec: parseMarked(await description.text(), reviveExample),
  dom_id: '#reference',
  deepLinking: true,
  plugins: [ExactNumbers, ErrorTable],
  // Swagger's own validator would send the description to another host.
  validatorUrl: null,
})
