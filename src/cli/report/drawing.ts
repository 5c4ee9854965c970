import { type PlotOptions, plot } from '../../vendor/plot.js';
import { Html } from './html.js';
import { type SvgElement, svgDocument } from './svg-document.js';

/** Draws a picture with a name for those who do not see it; with none it is an ornament. */
export function draw(options: PlotOptions, name?: string): Html {
  const document = svgDocument() as unknown as NonNullable<PlotOptions['document']>;
  const svg = plot({ ...options, document }) as unknown as SvgElement;
  if (name === undefined) svg.setAttribute('aria-hidden', 'true');
  else {
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', name);
  }
  return new Html(svg.markup);
}
