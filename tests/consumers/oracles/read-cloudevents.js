import { Kafka } from 'cloudevents'

// Reads messages, JSON with texts for key, value and headers, by the CloudEvents SDK, and prints the events as JSON.

const messages = JSON.parse(process.argv[2])
console.log(JSON.stringify(messages.map((message) => Kafka.toEvent(message))))
