import { CloudEvent, Kafka } from 'cloudevents'

// Prints, as JSON, the messages in binary mode that the CloudEvents SDK makes of events.

const events = JSON.parse(process.argv[2])
console.log(
  JSON.stringify(
    events.map((event) => {
      const { key, value, headers } = Kafka.binary(new CloudEvent(event))
      return { key, value, headers }
    }),
  ),
)
