--[[
  Reads fields of the meta of a generation; redis.ts puts it before each script. Returns nothing unless the generation
  is whole: the replica of a master that was moving a slot has only the keys that had not moved yet. The order must have
  as many ids as the meta counts, and the first one an entry: Redis 6.2 seeks any other one from there. Needs no right
  that an api alone did not need before.
]]
local function read_meta(at, ...)
  local meta = redis.call('HMGET', at .. ':meta', 'plants', ...)
  local plants = tonumber(table.remove(meta, 1) or 0)
  if plants ~= 0 then
    if redis.call('LLEN', at .. ':order') ~= plants then return {} end
    local first = redis.call('LRANGE', at .. ':order', 0, 0)[1]
    if not first or not redis.call('HGET', at .. ':plants', first) then return {} end
  end
  return meta
end
