--[[
  Reads the metadata of one generation and the sizes of its keys, atomically.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  generation, or '' for the live one

  Returns  {generation ('' for the live one without a pointer), live, filling,
           checkpoint ('' without a meta), event id there, fold version, partition count, plants, voids, parked, mark,
           sizes of plants, order and parked (-1 for a key of another type),
           time to live in ms of live, filling, meta, plants, order and parked (-1 without one, -2 for an absent key)},
           with '' for an unknown value
]]
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
local live = redis.call('GET', KEYS[1]) or ''
local generation = ARGV[1]
if generation == '' then generation = live end
local at = prefix .. generation
local state = { generation, live, redis.call('GET', prefix .. 'filling') or '' }
local meta = redis.call('HMGET', at .. ':meta',
  'checkpoint', 'event', 'fold', 'partitions', 'plants', 'voids', 'parked', 'mark')
for i = 1, 8 do state[3 + i] = meta[i] or '' end
for i, held in ipairs({ { 'HLEN', ':plants' }, { 'LLEN', ':order' }, { 'HLEN', ':parked' } }) do
  local size = redis.pcall(held[1], at .. held[2])
  state[11 + i] = type(size) == 'number' and tostring(size) or '-1'
end
for i, key in ipairs({ KEYS[1], prefix .. 'filling', at .. ':meta', at .. ':plants', at .. ':order', at .. ':parked' }) do
  state[14 + i] = tostring(redis.call('PTTL', key))
end
return state
