-- Takes one generation away: all its keys in one UNLINK, so that no failover brings back a part of it.
--
-- KEYS  1 the pointer to the live generation; all other keys share its hash tag and are made from it
-- ARGV  1 generation     2 'abandon' for one that is being filled, too, else ''
-- Returns {'OK', number of its keys there were}
--         {'LIVE'}     it is live; nothing changed
--         {'FILLING'}  a rebuild fills it; nothing changed
--
-- No write here is denied by a full Redis: this makes room.
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
