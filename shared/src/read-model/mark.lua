--[[
  Marks a generation before it is verified; the switch requires the mark. A failover that restores another state of the
  generation than the verified one restores it without the mark.

  KEYS[1]  pointer to the live generation; all other keys share its hash tag and are derived from it
  ARGV[1]  generation
  ARGV[2]  the mark, never used before

  Returns  {'OK'}
           {'GONE'}  the generation is gone or not whole; nothing changed
           {'LIVE'}  it is already live, perhaps by a switch whose reply was lost; nothing changed

  A mark replaces an earlier one: of two concurrent verifications, the first has to be repeated.
]]
local at = string.sub(KEYS[1], 1, -5) .. ARGV[1]
if not read_meta(at, 'checkpoint')[1] then return { 'GONE' } end
if redis.call('GET', KEYS[1]) == ARGV[1] then return { 'LIVE' } end
redis.call('HSET', at .. ':meta', 'mark', ARGV[2])
return { 'OK' }
