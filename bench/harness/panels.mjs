// Pictures of several panels, as SVG in the reader's colour scheme.

const STYLE = `<style>
  svg { font: 13px system-ui, sans-serif; color: #1f2328; fill: currentColor }
  @media (prefers-color-scheme: dark) { svg { color: #e6edf3 } }
</style>`;

/** The height of a panel's title. */
export const HEAD = 24;

/** A panel with its title at (x, y) and its content below. */
export const panelOf = (x, y, title, drawn) =>
  `<text x="${x}" y="${y + 16}" font-weight="600">${title}</text>
<g transform="translate(${x} ${y + HEAD})">${drawn}</g>`;

export function pictureOfPanels(title, width, height, panels) {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`;
  return `${head}\n<title>${title}</title>\n${STYLE}\n${panels.join('\n')}\n</svg>\n`;
}
