--[[
  Reapplies parked records that a later release can read: the live generation of one partition becomes what that
  release would have folded, atomically.

  KEYS[1]   pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]   fold version of the caller
  ARGV[2]   partition count of the topic
  ARGV[3..] five for each record: offset, stored reason, new reason ('' if it is no longer parked), id ('' if it claims
            none), entry

  Returns   {'OK', number of changed records}
            {'GONE'}               there is no live generation
            {'FOLD', version}      it was folded by a newer release; nothing changed
            {'PARTITIONS', count}  it was folded from a topic with another partition count; nothing changed

  A record that is not parked for the stored reason is left alone: it was reapplied before, or a rebuild was faster. An
  entry changes only if it is an unreadable one of the same event and offset (bytes 2 to 23, entry.ts); an entry that
  another record created stays. A count of 0 is deleted, because a fold creates each count with the first element.

  Redis has no rollback: all checks come before the first write, and the first write is an HSET, which a full Redis
  rejects.
]]
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local meta = at and redis.call('HMGET', at .. ':meta', 'checkpoint', 'fold', 'partitions')
if not meta or not meta[1] then return { 'GONE' } end
if (tonumber(meta[2] or '') or 0) > tonumber(ARGV[1]) then return { 'FOLD', meta[2] } end
if meta[3] ~= ARGV[2] then return { 'PARTITIONS', meta[3] } end

local UNREADABLE = string.char(0)
local changed, gone = 0, 0
for i = 3, #ARGV, 5 do
  local offset, was, is, id, entry = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
  if was ~= is and redis.call('HGET', at .. ':parked', offset) == was then
    if changed == 0 then redis.call('HSET', at .. ':meta', 'fold', ARGV[1]) end
    changed = changed + 1
    if id ~= '' then
      local stored = redis.call('HGET', at .. ':plants', id)
      if stored and string.sub(stored, 1, 1) == UNREADABLE and string.sub(stored, 2, 23) == string.sub(entry, 2, 23) then
        redis.call('HSET', at .. ':plants', id, entry)
      end
    end
    if is == '' then
      redis.call('HDEL', at .. ':parked', offset)
      gone = gone + 1
    else
      redis.call('HSET', at .. ':parked', offset, is)
    end
  end
end
if gone > 0 and redis.call('HINCRBY', at .. ':meta', 'parked', -gone) == 0 then
  redis.call('HDEL', at .. ':meta', 'parked')
end
return { 'OK', tostring(changed) }
