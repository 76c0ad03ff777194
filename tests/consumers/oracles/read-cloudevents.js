import { Kafka } from 'cloudevents'

// Reads a message, JSON with texts for key, value and headers, by the CloudEvents SDK, and prints the event as JSON.

console.log(JSON.stringify(Kafka.toEvent(JSON.parse(process.argv[2]))))
