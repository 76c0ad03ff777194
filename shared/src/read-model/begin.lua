--[[
  Resumes the generation that a rebuild of one partition fills, or creates it.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  name for a new generation, never used before
  ARGV[2]  fold version of the caller
  ARGV[3]  partition count of the topic

  Returns  {'RESUMED', name, checkpoint, event id}  the generation that is being filled
           {'BEGUN', name, '-1', ''}                a new, empty generation; the pointer 'filling' names it
           {'TAKEN'}                                there are keys under that name; nothing changed
           {'FOLD', version}                        the live or filling generation was folded by a newer release
           {'PARTITIONS', count}                    the live generation was folded from another partition count

  A filling generation of an older release, of another partition count, with an invalid checkpoint, or not whole is left
  as it is, and the pointer no longer names it. A fold version that is not a number does not count as newer: the rebuild
  repairs it. The first write is an HSET, which a full Redis rejects.
]]
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
local live = redis.call('GET', KEYS[1])
local filling = redis.call('GET', prefix .. 'filling')
local old = live and redis.call('HMGET', prefix .. live .. ':meta', 'fold', 'partitions') or {}
local begun = filling and read_meta(prefix .. filling, 'fold', 'partitions', 'checkpoint', 'event') or {}
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
