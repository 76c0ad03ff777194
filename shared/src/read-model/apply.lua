-- Applies records to one partition of a generation and moves its checkpoint, all in one step.
--
-- KEYS  1 the pointer to the live generation; all other keys share its hash tag and are made from it
-- ARGV  1 generation, or '' for the live one
--       2 fold version of the caller     3 partition count of the topic
--       4 checkpoint expected            5 checkpoint after these records, 6 the event id there ('' for none)
--       7 name for a new live generation, never used before; taken when there is none
--       8.. three for each record: id ('' if it claims none), entry, '<offset>:<reason>' if parked else ''
-- Returns {'OK', checkpoint, event id}
--         {'STALE', checkpoint, event id}  the checkpoint is not the expected one; nothing changed
--         {'GONE'}                         that generation does not exist; it is never made again
--         {'FOLD', version}                it was folded by a newer release; nothing changed
--         {'PARTITIONS', count}            it was folded from a topic of another size; nothing changed
--
-- Redis has no roll-back: all refusals come before the first write, and the first write is an HSET, which
-- a full Redis denies. Ids stay text: as Lua numbers they would lose digits beyond 2^53.
local generation = ARGV[1]
local expected = ARGV[4]
local live = redis.call('GET', KEYS[1])
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
if generation == '' then generation = live or '' end

local meta = {}
if generation ~= '' then
  meta = redis.call('HMGET', prefix .. generation .. ':meta', 'checkpoint', 'event', 'fold', 'partitions')
end
local new = false
if not meta[1] then
  -- Also when the pointer outlived what it names: under its old name a generation could be half there.
  if ARGV[1] ~= '' then return { 'GONE' } end
  new = true
  generation = ARGV[7]
  meta = { '-1', '', ARGV[2], ARGV[3] }
end
if tonumber(meta[3]) > tonumber(ARGV[2]) then return { 'FOLD', meta[3] } end
if meta[4] ~= ARGV[3] then return { 'PARTITIONS', meta[4] } end
if meta[1] ~= expected then return { 'STALE', meta[1], meta[2] } end

local at = prefix .. generation
redis.call('HSET', at .. ':meta', 'checkpoint', ARGV[5], 'event', ARGV[6], 'fold', ARGV[2], 'partitions', ARGV[3])
if new then redis.call('SET', KEYS[1], generation) end

local plants, voids, parked = 0, 0, 0
for i = 8, #ARGV, 3 do
  local id, entry, park = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if id ~= '' then
    if redis.call('HSETNX', at .. ':plants', id, entry) == 1 then
      redis.call('RPUSH', at .. ':order', id)
      plants = plants + 1
    else
      -- The same event again is no conflict. Bytes 2 to 17 of an entry are its event id (entry.ts).
      local first = redis.call('HGET', at .. ':plants', id)
      if string.sub(first, 2, 17) ~= string.sub(entry, 2, 17) then voids = voids + 1 end
    end
  end
  if park ~= '' then
    local colon = string.find(park, ':', 1, true)
    redis.call('HSET', at .. ':parked', string.sub(park, 1, colon - 1), string.sub(park, colon + 1))
    parked = parked + 1
  end
end
if plants > 0 then redis.call('HINCRBY', at .. ':meta', 'plants', plants) end
if voids > 0 then redis.call('HINCRBY', at .. ':meta', 'voids', voids) end
if parked > 0 then redis.call('HINCRBY', at .. ':meta', 'parked', parked) end
return { 'OK', ARGV[5], ARGV[6] }
