type Decoded = { headersAt?: number; batchContext?: { records?: Buffer } }

/** The part of decoded records that kafkajs has, too: only the records here know the bytes of their headers. */
export function asKafkajs<R extends object>(records: R[]): R[] {
  for (const record of records as Decoded[]) {
    delete record.headersAt
    delete record.batchContext?.records
  }
  return records
}
