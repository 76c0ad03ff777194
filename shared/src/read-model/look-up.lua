-- Reads entries of one partition together with how far its live generation has come, in one step.
--
-- KEYS  1 the pointer to the live generation; read here each time, for a cached one could be an old one
-- ARGV  the ids
-- Returns {checkpoint ('-1' when there is no generation), then for each id its entry or nil}
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local checkpoint = at and redis.call('HGET', at .. ':meta', 'checkpoint')
local found = { checkpoint or '-1' }
for i = 1, #ARGV do
  -- Entries without a meta are no fold of anything: they count as absent.
  found[i + 1] = checkpoint and redis.call('HGET', at .. ':plants', ARGV[i]) or false
end
return found
