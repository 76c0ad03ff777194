-- Reads consecutive plants of one generation in log order, packed, so that a reader who knows what they should be can
-- compare them as they are.
--
-- KEYS  1 the pointer to the live generation; all other keys share its hash tag and are made from it
-- ARGV  1 generation     2 index of the first plant, from 0     3 how many, 1 to 1,000
-- Returns {ids with commas between, the length of each entry in two bytes, big-endian, the entries one after another};
--         of an id without an entry, or with one of more than 65,534 bytes, the length is 65,535
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
