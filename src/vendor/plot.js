// Observable Plot, as far as the report draws with it.
export {
  areaY,
  axisX,
  axisY,
  cell,
  dot,
  dotX,
  gridY,
  line,
  lineX,
  plot,
  rect,
  ruleY,
  text,
} from '@observablehq/plot';
