--[[
  Reads entries of one partition together with the checkpoint of its live generation, atomically.

  KEYS[1]  pointer to the live generation; read on every call, because a cached pointer could be outdated
  ARGV     the ids

  Returns  {checkpoint ('-1' without a generation), text of the void claims ('' without a generation), then the entry of
           each id, or nil}. The text is the same in two calls only if no void claim was applied between them: it has the
           generation, its fold version and its count of void claims.
]]
local live = redis.call('GET', KEYS[1])
local at = live and (string.sub(KEYS[1], 1, -5) .. live)
local meta = at and read_meta(at, 'checkpoint', 'fold', 'voids') or {}
local checkpoint = meta[1]
local voids = checkpoint and table.concat({ live, meta[2] or '', meta[3] or '0' }, ' ')
local found = { checkpoint or '-1', voids or '' }
for i = 1, #ARGV do
  -- Entries of a generation that is not whole are not a fold: they count as absent.
  found[i + 2] = checkpoint and redis.call('HGET', at .. ':plants', ARGV[i]) or false
end
return found
