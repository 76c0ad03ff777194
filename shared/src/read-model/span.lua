--[[
  Reads consecutive plants of one generation in log order, packed, so that a verification can compare the bytes.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  generation
  ARGV[2]  index of the first plant, from 0
  ARGV[3]  number of plants, 1 to 1,000

  Returns  {ids separated by commas, the length of each entry in two bytes (big-endian), the entries one after another}
           The length is 65,535 for an id without an entry, and for an entry of more than 65,534 bytes.
]]
local at = string.sub(KEYS[1], 1, -5) .. ARGV[1] -- without 'live'
local from = tonumber(ARGV[2])
local ids = redis.call('LRANGE', at .. ':order', from, from + tonumber(ARGV[3]) - 1)
if #ids == 0 then return { '', '', '' } end
local NO_LENGTH = 65535
local entries = redis.call('HMGET', at .. ':plants', unpack(ids))
local lengths = {}
for i = 1, #ids do
  local entry = entries[i]
  local length = entry and math.min(#entry, NO_LENGTH) or NO_LENGTH
  lengths[i] = string.char(math.floor(length / 256), length % 256)
  if not entry then entries[i] = '' end
end
return { table.concat(ids, ','), table.concat(lengths), table.concat(entries) }
