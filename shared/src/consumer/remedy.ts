/** What a consumer may do when the log is not the one it was. */
export const REMEDY =
  'the topic was made anew or lost its end, or this is another cluster. Restore the topic or set brokers and topic ' +
  'right; or, if the log is right as it is, begin with another group and new first claims'
