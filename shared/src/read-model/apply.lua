--[[
  Applies records to one partition of a generation and moves its checkpoint, atomically.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  generation, or '' for the live one
  ARGV[2]  fold version of the caller
  ARGV[3]  partition count of the topic
  ARGV[4]  expected checkpoint
  ARGV[5]  checkpoint after these records
  ARGV[6]  event id at that checkpoint, '' for none
  ARGV[7]  name for a new live generation, never used before; used when there is no live generation
  ARGV[8]  the records, packed: for each the lengths of id (1 byte, 0 if it claims none), entry (2 bytes, big-endian) and
           parked text (1 byte, 0 if it is not parked), then id, entry (entry.ts) and '<offset>:<reason>'

  Returns  {'OK', checkpoint, event id}
           {'STALE', checkpoint, event id}  the checkpoint is not the expected one
           {'GONE'}                         the generation is gone or not whole; it is never created again
           {'FOLD', version}                the generation was folded by a newer release
           {'PARTITIONS', count}            the generation was folded from a topic with another partition count
  Any result other than OK means that nothing changed.

  Redis has no rollback: all checks come before the first write, and the first write is an HSET, which a full Redis
  rejects. Ids stay text: as Lua numbers they would lose digits beyond 2^53.
]]
local generation = ARGV[1]
local expected = ARGV[4]
local live = redis.call('GET', KEYS[1])
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
if generation == '' then generation = live or '' end

local meta = {}
if generation ~= '' then
  meta = read_meta(prefix .. generation, 'checkpoint', 'event', 'fold', 'partitions')
end
local new = false
if not meta[1] then
  -- Not under the old name: some of its keys still exist if it is not whole.
  if ARGV[1] ~= '' then return { 'GONE' } end
  new = true
  generation = ARGV[7]
  meta = { '-1', '', ARGV[2], ARGV[3] }
end
-- One that is not a number does not count as newer, as in begin.lua.
if (tonumber(meta[3] or '') or 0) > tonumber(ARGV[2]) then return { 'FOLD', meta[3] } end
if meta[4] ~= ARGV[3] then return { 'PARTITIONS', meta[4] } end
if meta[1] ~= expected then return { 'STALE', meta[1], meta[2] } end

local at = prefix .. generation
local plants_key, order_key, parked_key = at .. ':plants', at .. ':order', at .. ':parked'
-- Fails for a key of another type before the checkpoint has moved.
redis.call('HLEN', plants_key)
redis.call('LLEN', order_key)
redis.call('HLEN', parked_key)
local meta_key = at .. ':meta'
if new then
  redis.call('HSET', meta_key, 'checkpoint', meta[1], 'event', meta[2], 'fold', ARGV[2], 'partitions', ARGV[3])
  redis.call('SET', KEYS[1], generation)
end
-- Redis checks the right to a command when it is called: each one that follows is tried before the checkpoint moves.
-- The first three change nothing; the last one fails because of the key's type before Redis 7, which can be asked.
redis.call('HGET', meta_key, 'checkpoint')
redis.call('HSETNX', meta_key, 'checkpoint', '')
redis.call('HINCRBY', meta_key, 'checkpoint', 0)
local may_push = redis.acl_check_cmd and redis.acl_check_cmd('RPUSH', order_key, '')
  or not redis.acl_check_cmd and string.find(redis.pcall('RPUSH', meta_key, '').err, 'WRONGTYPE', 1, true)
if not may_push then return redis.error_reply("NOPERM this user has no permissions to run the 'rpush' command") end
redis.call('HSET', meta_key, 'checkpoint', ARGV[5], 'event', ARGV[6], 'fold', ARGV[2], 'partitions', ARGV[3])

local call, byte, sub = redis.call, string.byte, string.sub
-- New ids are appended to the order in one call: one call each would cost more than everything else except HSETNX.
local MAX_IDS_PER_CALL = 512
local new_ids, waiting = {}, 0
local function push_waiting()
  if waiting > 0 then call('RPUSH', order_key, unpack(new_ids, 1, waiting)) end
  waiting = 0
end

local packed = ARGV[8]
local plants, voids, parked = 0, 0, 0
local next = 1
while next <= #packed do
  local id_length, high, low, parked_length = byte(packed, next, next + 3)
  local entry_from = next + 4 + id_length
  local parked_from = entry_from + high * 256 + low
  next = parked_from + parked_length
  if id_length > 0 then
    local id, entry = sub(packed, entry_from - id_length, entry_from - 1), sub(packed, entry_from, parked_from - 1)
    if call('HSETNX', plants_key, id, entry) == 1 then
      if waiting == MAX_IDS_PER_CALL then push_waiting() end
      waiting = waiting + 1
      new_ids[waiting] = id
      plants = plants + 1
    else
      -- A repeated claim is not a conflict. Bytes 2 to 17 of an entry are its event id (entry.ts).
      local first = call('HGET', plants_key, id)
      if sub(first, 2, 17) ~= sub(entry, 2, 17) then voids = voids + 1 end
    end
  end
  if parked_length > 0 then
    local park = sub(packed, parked_from, next - 1)
    local colon = string.find(park, ':', 1, true)
    call('HSET', parked_key, sub(park, 1, colon - 1), sub(park, colon + 1))
    parked = parked + 1
  end
end
push_waiting()
if plants > 0 then redis.call('HINCRBY', meta_key, 'plants', plants) end
if voids > 0 then redis.call('HINCRBY', meta_key, 'voids', voids) end
if parked > 0 then redis.call('HINCRBY', meta_key, 'parked', parked) end
return { 'OK', ARGV[5], ARGV[6] }
