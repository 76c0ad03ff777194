--[[
  Makes a verified generation the live one, atomically.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  the new generation
  ARGV[2]  the mark that was set before its verification
  ARGV[3]  the expected live generation, '' for no pointer
  ARGV[4]  the verified checkpoint
  ARGV[5]  fold version of the caller

  Returns  {'OK'}
           {'GONE'}                             the generation is gone or not whole
           {'UNMARKED', mark}                   it has another mark or none: it is not what was verified
           {'CHANGED', live}                    another generation than expected is live
           {'FELLBACK', checkpoint}             it has lost a part of what was verified
           {'BEHIND', checkpoint, live's one}   it is behind the live generation: reads would lose plants
           {'FOLD', version}                    it or the live generation was folded by a newer release
  Any result other than OK means that nothing changed. All checks come before the first write, a SET, which a full Redis
  rejects.
]]
local prefix = string.sub(KEYS[1], 1, -5) -- without 'live'
local new = read_meta(prefix .. ARGV[1], 'checkpoint', 'mark', 'fold')
if not new[1] then return { 'GONE' } end
if new[2] ~= ARGV[2] then return { 'UNMARKED', new[2] or '' } end
local live = redis.call('GET', KEYS[1]) or ''
if live ~= ARGV[3] then return { 'CHANGED', live } end
-- Offsets have 48 bits: Lua numbers represent them exactly.
if tonumber(new[1]) < tonumber(ARGV[4]) then return { 'FELLBACK', new[1] } end
local old = redis.call('HMGET', prefix .. live .. ':meta', 'checkpoint', 'fold')
-- A live generation with an invalid checkpoint is not a fold.
if tonumber(new[1]) < (tonumber(old[1] or '') or -1) then return { 'BEHIND', new[1], old[1] } end
for _, fold in ipairs({ new[3], old[2] or ARGV[5] }) do
  if (tonumber(fold or '') or 0) > tonumber(ARGV[5]) then return { 'FOLD', fold } end
end

local filling = redis.call('GET', prefix .. 'filling')
redis.call('SET', KEYS[1], ARGV[1])
-- Another rebuild may be filling another generation.
if filling == ARGV[1] then redis.call('DEL', prefix .. 'filling') end
redis.call('HDEL', prefix .. ARGV[1] .. ':meta', 'mark')
return { 'OK' }
