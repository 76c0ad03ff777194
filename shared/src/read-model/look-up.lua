--[[
  Reads entries of one partition together with the checkpoint of its live generation, atomically.

  KEYS[1]  pointer to the live generation; read on every call, because a cached pointer could be outdated
  ARGV     the ids

  Returns  {checkpoint ('-1' without a generation), text of the offsets without a plant ('' without a generation), then
           the entry of each id, or nil}. The text has the generation and its number of offsets that created no plant.
           So it is the same in two calls only if each offset between their checkpoints has created one.
]]
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local meta = at and read_meta(at, 'checkpoint', 'plants') or {}
local checkpoint = meta[1]
local found = { checkpoint or '-1', checkpoint and string.format('%s %.0f', live, checkpoint - (meta[2] or 0)) or '' }
for i = 1, #ARGV do
  -- Entries of a generation that is not whole are not a fold: they count as absent.
  found[i + 2] = checkpoint and redis.call('HGET', at .. ':plants', ARGV[i]) or false
end
return found
