--[[
  Deletes one generation: all its keys in one UNLINK, so that no failover restores only some of them.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  generation
  ARGV[2]  'abandon' to delete a generation that is being filled as well, else ''

  Returns  {'OK', number of keys it had}
           {'LIVE'}     the generation is live; nothing changed
           {'FILLING'}  a rebuild is filling the generation; nothing changed

  A full Redis accepts all writes here: they free memory.
]]
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
if redis.call('GET', KEYS[1]) == ARGV[1] then return { 'LIVE' } end
local at = prefix .. ARGV[1]
local keys = { at .. ':meta', at .. ':plants', at .. ':order', at .. ':parked' }
local found = tostring(redis.call('EXISTS', unpack(keys)))
if redis.call('GET', prefix .. 'filling') == ARGV[1] then
  if ARGV[2] ~= 'abandon' then return { 'FILLING' } end
  keys[5] = prefix .. 'filling'
end
redis.call('UNLINK', unpack(keys))
return { 'OK', found }
