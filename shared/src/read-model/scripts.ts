import { LOOK_UP_SCRIPTS } from './look-up.ts'
import { script } from './redis.ts'

/** All scripts, by the name of their command. */
export const SCRIPTS = {
  ...LOOK_UP_SCRIPTS,
  plantsApply: script('apply.lua'),
  plantsList: script('list.lua'),
  plantsBegin: script('begin.lua'),
  plantsMark: script('mark.lua'),
  plantsState: script('state.lua'),
  plantsSpan: script('span.lua'),
  plantsSwitch: script('switch.lua'),
  plantsDrop: script('drop.lua'),
  plantsReapply: script('reapply.lua'),
}
