// Types of plot.js, which is bundled.
export {
  areaY,
  axisX,
  axisY,
  cell,
  dot,
  frame,
  gridY,
  line,
  type Markish,
  type PlotOptions,
  plot,
  rect,
  ruleY,
  type ScaleOptions,
  text,
} from '@observablehq/plot';
