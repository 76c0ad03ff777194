-- Makes a verified generation the live one, in one step.
--
-- KEYS  1 the pointer to the live generation; all other keys share its hash tag and are made from it
-- ARGV  1 the new generation        2 the mark that its verification began with
--       3 the live one expected, '' for no pointer
--       4 the checkpoint verified   5 fold version of the caller
-- Returns {'OK'}
--         {'GONE'}                        that generation does not exist
--         {'UNMARKED', mark}              its mark is another or none: what was verified is not what is here
--         {'CHANGED', live}               another one than expected is live
--         {'FELLBACK', checkpoint}        it has lost a part of what was verified
--         {'BEHIND', checkpoint, live's}  it has not come as far as the live one: reads would forget plants
--         {'FOLD', version}               it or the live one was folded by a newer release
-- Whatever is not OK changed nothing. All refusals come before the first write, a SET, which a full Redis denies.
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
local at = prefix .. ARGV[1] .. ':meta'
local new = redis.call('HMGET', at, 'checkpoint', 'mark', 'fold')
if not new[1] then return { 'GONE' } end
if new[2] ~= ARGV[2] then return { 'UNMARKED', new[2] or '' } end
local live = redis.call('GET', KEYS[1]) or ''
if live ~= ARGV[3] then return { 'CHANGED', live } end
-- Offsets have 48 bits: as Lua numbers they are exact.
if tonumber(new[1]) < tonumber(ARGV[4]) then return { 'FELLBACK', new[1] } end
local old = redis.call('HMGET', prefix .. live .. ':meta', 'checkpoint', 'fold')
-- A live one whose checkpoint is no offset is no fold of anything.
if tonumber(new[1]) < (tonumber(old[1] or '') or -1) then return { 'BEHIND', new[1], old[1] } end
for _, fold in ipairs({ new[3], old[2] or ARGV[5] }) do
  if (tonumber(fold or '') or 0) > tonumber(ARGV[5]) then return { 'FOLD', fold } end
end

redis.call('SET', KEYS[1], ARGV[1])
-- Another rebuild may be filling another one.
if redis.call('GET', prefix .. 'filling') == ARGV[1] then redis.call('DEL', prefix .. 'filling') end
redis.call('HDEL', at, 'mark')
return { 'OK' }
