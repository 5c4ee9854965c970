// Types of plot.js, which is bundled.
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
  type Markish,
  type PlotOptions,
  plot,
  rect,
  ruleY,
  text,
} from '@observablehq/plot';
