// Observable Plot, as far as the report draws with it.
export {
  areaY,
  axisX,
  axisY,
  cell,
  dot,
  frame,
  gridY,
  line,
  plot,
  rect,
  ruleY,
  text,
} from '@observablehq/plot';
