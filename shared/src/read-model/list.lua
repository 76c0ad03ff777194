--[[
  Reads a span of one partition's plants in log order together with the checkpoint of the live generation, atomically.

  KEYS[1]  pointer to the live generation; read on every call, because a cached pointer could be outdated
  ARGV[1]  index of the first plant, from 0
  ARGV[2]  number of plants, at most 1,000

  Returns  {checkpoint ('-1' without a generation), number of plants, then the id and the entry of each plant found}
]]
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local checkpoint = at and read_meta(at, 'checkpoint')[1]
-- Ids of a generation that is not whole are not a fold: they count as absent.
if not checkpoint then return { '-1', '0' } end

local found = { checkpoint, tostring(redis.call('LLEN', at .. ':order')) }
local from, count = tonumber(ARGV[1]), tonumber(ARGV[2])
-- Not for a count of 0: index -1 is the last element.
local ids = count > 0 and redis.call('LRANGE', at .. ':order', from, from + count - 1) or {}
if #ids == 0 then return found end
local entries = redis.call('HMGET', at .. ':plants', unpack(ids))
for i = 1, #ids do
  found[2 * i + 1] = ids[i]
  found[2 * i + 2] = entries[i]
end
return found
