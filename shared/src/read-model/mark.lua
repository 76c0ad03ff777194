-- Marks a generation before it is verified; the switch demands the mark. A failover that brings back another state
-- of the generation than the one verified brings back one without it.
--
-- KEYS  1 the pointer to the live generation; all other keys share its hash tag and are made from it
-- ARGV  1 generation     2 the mark, never used before
-- Returns {'OK'}
--         {'GONE'}  that generation does not exist; nothing changed
--         {'LIVE'}  it is live already, perhaps by a switch whose answer was lost; nothing changed
--
-- A mark takes the place of an earlier one: of two who verify at once, the first has to verify again.
local meta = string.sub(KEYS[1], 1, -5) .. ARGV[1] .. ':meta'
if not redis.call('HGET', meta, 'checkpoint') then return { 'GONE' } end
if redis.call('GET', KEYS[1]) == ARGV[1] then return { 'LIVE' } end
redis.call('HSET', meta, 'mark', ARGV[2])
return { 'OK' }
