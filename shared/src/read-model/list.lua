-- Reads a span of one partition's plants in log order together with how far its live generation has come, in one step.
--
-- KEYS  1 the pointer to the live generation; read here each time, for a cached one could be an old one
-- ARGV  1 index of the first plant, from 0     2 how many, at most 1,000
-- Returns {checkpoint ('-1' when there is no generation), number of plants, then for each plant found its id and its entry}
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local checkpoint = at and redis.call('HGET', at .. ':meta', 'checkpoint')
-- Ids without a meta are no fold of anything: they count as absent.
if not checkpoint then return { '-1', '0' } end

local found = { checkpoint, tostring(redis.call('LLEN', at .. ':order')) }
local from, count = tonumber(ARGV[1]), tonumber(ARGV[2])
-- Not for a count of 0: up to index -1 would be up to the last one.
local ids = count > 0 and redis.call('LRANGE', at .. ':order', from, from + count - 1) or {}
if #ids == 0 then return found end
local entries = redis.call('HMGET', at .. ':plants', unpack(ids))
for i = 1, #ids do
  found[2 * i + 1] = ids[i]
  found[2 * i + 2] = entries[i]
end
return found
