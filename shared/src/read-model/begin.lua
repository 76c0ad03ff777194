-- Takes up the generation that a rebuild of one partition fills, or begins it.
--
-- KEYS  1 the pointer to the live generation; all other keys share its hash tag and are made from it
-- ARGV  1 name for a new generation, never used before     2 fold version of the caller     3 partition count of the topic
-- Returns {'RESUMED', name, checkpoint, event id}  there was one being filled; it goes on where it stands
--         {'BEGUN', name, '-1', ''}                a new one, empty, which the pointer 'filling' names from now on
--         {'TAKEN'}                                there are keys under that name; nothing changed
--         {'FOLD', version}                        the live one, or the one being filled, was folded by a newer release
--         {'PARTITIONS', count}                    the live one was folded from a topic of another size
--
-- What an older release, or one for a topic of another size, was filling is left where it is, and named no more; so is
-- one whose checkpoint is no offset. A fold version that is no number is no newer one: the rebuild is what mends it.
-- The first write is an HSET, which a full Redis denies.
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
local function read(name)
  if not name then return {} end
  return redis.call('HMGET', prefix .. name .. ':meta', 'fold', 'partitions', 'checkpoint', 'event')
end

local live = redis.call('GET', KEYS[1])
local filling = redis.call('GET', prefix .. 'filling')
local old, begun = read(live), read(filling)
for _, meta in ipairs({ old, begun }) do
  if (tonumber(meta[1] or '') or 0) > tonumber(ARGV[2]) then return { 'FOLD', meta[1] } end
end
if old[2] and old[2] ~= ARGV[3] then return { 'PARTITIONS', old[2] } end
local is_offset = begun[3] == '-1' or begun[3] == '0' or string.match(begun[3] or '', '^[1-9]%d*$')
if begun[1] == ARGV[2] and begun[2] == ARGV[3] and is_offset and filling ~= live then
  return { 'RESUMED', filling, begun[3], begun[4] }
end

local at = prefix .. ARGV[1]
if redis.call('EXISTS', at .. ':meta', at .. ':plants', at .. ':order', at .. ':parked') > 0 then return { 'TAKEN' } end
redis.call('HSET', at .. ':meta', 'checkpoint', '-1', 'event', '', 'fold', ARGV[2], 'partitions', ARGV[3])
redis.call('SET', prefix .. 'filling', ARGV[1])
return { 'BEGUN', ARGV[1], '-1', '' }
