// Runs in the browser. Swagger UI parses all that it shows, and a browser's numbers keep some 15 digits: so each number
// that would change is a marked text while it is parsed, and a number again when it is shown.

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

/** An example with a marked number becomes a text. */
function reviveExample(key, value) {
  return key === 'value' && JSON.stringify(value).includes(MARK) ? showExactly(value) : value
}

const ExactNumbers = {
  /** An example that is a text is shown and sent as it is; Swagger UI would parse it. */
  afterLoad() {
    const { getSampleSchema } = this.fn
    this.fn.getSampleSchema = (schema, type, options, example) =>
      typeof example === 'string' && /json/.test(type)
        ? example
        : getSampleSchema(schema, type, options, example)
  },

  wrapComponents: {
    responseBody: (Original, { React }) =>
      function ExactBody(props) {
        const shown = /json/i.test(props.contentType) && tryShow(props.content)
        if (!shown) return React.createElement(Original, props)
        const HighlightCode = props.getComponent('HighlightCode', true)
        const options = { language: 'json', downloadable: true, canCopy: true, fileName: 'answer.json' }
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

const description = await fetch('openapi.json')
window.SwaggerUIBundle({
  spec: parseMarked(await description.text(), reviveExample),
  dom_id: '#reference',
  deepLinking: true,
  plugins: [ExactNumbers],
  // Swagger's own would send the description to another host.
  validatorUrl: null,
})
