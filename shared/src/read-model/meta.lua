--[[
  Reads fields of the meta of a generation; redis.ts puts it before each script. Returns nothing unless the generation
  is whole: the replica of a master that was moving a slot has only the keys that had not moved yet. The order must have
  as many ids as the meta counts, and the last one an entry. Needs no right that an api alone did not need before.
]]
local function read_meta(at, ...)
  local meta = redis.call('HMGET', at .. ':meta', 'plants', ...)
  local plants = tonumber(table.remove(meta, 1) or 0)
  if plants ~= 0 then
    local ids = plants and redis.call('LRANGE', at .. ':order', plants - 1, plants) or {}
    if #ids ~= 1 or not redis.call('HGET', at .. ':plants', ids[1]) then return {} end
  end
  return meta
end

