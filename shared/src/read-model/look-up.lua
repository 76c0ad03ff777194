--[[
  Reads entries of one partition together with the checkpoint of its live generation, atomically.

  KEYS[1]  pointer to the live generation; read on every call, because a cached pointer could be outdated
  ARGV     the ids

  Returns  {checkpoint ('-1' without a generation), then the entry of each id, or nil}
]]
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local checkpoint = at and read_meta(at, 'checkpoint')[1]
local found = { checkpoint or '-1' }
for i = 1, #ARGV do
  -- Entries of a generation that is not whole are not a fold: they count as absent.
  found[i + 1] = checkpoint and redis.call('HGET', at .. ':plants', ARGV[i]) or false
end
return found
