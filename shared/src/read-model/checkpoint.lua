--[[
  Reads the checkpoint and metadata of the live generation of one partition.

  KEYS[1]  pointer to the live generation

  Returns  {checkpoint ('-1' without a generation), event id there, partition count, fold version, plants, voids,
           parked, generation}, with '' for an unknown value
]]
local live = redis.call('GET', KEYS[1])
local none = { '-1', '', '', '', '', '', '', live or '' }
if not live then return none end
local meta = read_meta(string.sub(KEYS[1], 1, -5) .. live,
  'checkpoint', 'event', 'partitions', 'fold', 'plants', 'voids', 'parked')
if not meta[1] then return none end
for i = 1, 7 do meta[i] = meta[i] or '' end
meta[8] = live
return meta
