// The page's style. Each colour is a pair for the light and the dark theme. The colours of series
// and heat can be distinguished with any colour vision. Printed pages are always light.

/** CSS of the page. */
export const style = `
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f9, #14171c);
  --card: light-dark(#ffffff, #1c2027);
  --ink: light-dark(#1b2028, #e6e9ee);
  --soft: light-dark(#5a6472, #a0a9b6);
  --rule: light-dark(#dde1e7, #323844);
  --stripe: light-dark(#f5f7f9, #22272f);
  --link: light-dark(#1466b8, #6cb2f7);
  --warn: light-dark(#fff4dd, #33290f);
  --warn-edge: light-dark(#e0a100, #d9a321);
  --slow: light-dark(#b3410c, #ff9e61);
  --fast: light-dark(#1466b8, #6cb2f7);
  --series-1: light-dark(#1a6db5, #5fb0f5);
  --series-2: light-dark(#cf5108, #ff9248);
  --series-3: light-dark(#0a8466, #3ccba2);
  --series-4: light-dark(#b03a8c, #ee8ccb);
  --series-5: light-dark(#8f6c00, #e3c04a);
  --series-6: light-dark(#6548a8, #b29bf5);
  --series-7: light-dark(#596270, #b3bbc7);
  --series-8: light-dark(#8a2b2b, #e98080);
  --heat-0: light-dark(#d9601a, #e0691f);
  --heat-1: light-dark(#ee9154, #b4571d);
  --heat-2: light-dark(#f6bb90, #86481f);
  --heat-3: light-dark(#f8dcc6, #5a3a25);
  --heat-4: light-dark(#e9ebee, #343a44);
  --heat-5: light-dark(#cfe0f1, #2b4763);
  --heat-6: light-dark(#a3c8ea, #28598a);
  --heat-7: light-dark(#6ea8dd, #2a6cad);
  --heat-8: light-dark(#3f87c9, #3b86cf);
  --failed: light-dark(#8b939f, #0b0d10);
  --shade: light-dark(#1b202855, #000000dd);
}
:root:has(#theme-light:checked) { color-scheme: light; }
:root:has(#theme-dark:checked) { color-scheme: dark; }

* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
}
header, main { max-width: 1320px; margin: 0 auto; padding: 0 24px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 20px; padding-top: 28px; padding-bottom: 16px; }
h1 { font-size: 26px; line-height: 1.25; font-weight: 650; letter-spacing: -0.01em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; line-height: 1.3; font-weight: 650; margin: 0 0 12px; overflow-wrap: anywhere; }
header p { margin: 0; color: var(--soft); flex: 1; min-width: 200px; }
p { margin: 0 0 12px; max-width: 75ch; }
code { font: 0.93em ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
section {
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px;
  padding: 20px 24px; margin: 0 0 20px;
}

.theme { border: 1px solid var(--rule); border-radius: 8px; padding: 2px; margin: 0; display: flex; font-size: 13px; }
.theme legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.theme input { position: absolute; opacity: 0; }
.theme span { display: block; padding: 3px 12px; border-radius: 6px; cursor: pointer; color: var(--soft); }
.theme input:checked + span { background: var(--card); color: var(--ink); box-shadow: 0 0 0 1px var(--rule); }
.theme input:focus-visible + span, .scroll:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }

.warnings { background: var(--warn); border-color: var(--warn-edge); border-left-width: 5px; }
.warnings ul, .findings { margin: 0; padding-left: 20px; }
.warnings .who { color: var(--soft); }
.warnings .who::before { content: "— "; }
.findings { margin-bottom: 16px; }
.findings strong { color: var(--slow); }

.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0 0 12px; padding: 0; font-size: 13.5px; }
.legend li { display: flex; align-items: center; gap: 6px; overflow-wrap: anywhere; }
.legend.heat { gap: 2px 12px; font-size: 12.5px; color: var(--soft); }
.patch { width: 18px; height: 14px; border-radius: 3px; flex: none; }
.key { display: inline-block; vertical-align: -1px; flex: none; }
.key svg, .legend svg { display: block; flex: none; }

.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(440px, 100%), 1fr)); gap: 20px 28px; }
.chart { margin: 0 0 8px; container-type: inline-size; max-width: 680px; }
.charts .chart { max-width: none; }
.chart .legend { margin: 0 0 4px; color: var(--soft); font-size: 12.5px; }
figcaption { font-weight: 600; font-size: 14px; margin-bottom: 6px; overflow-wrap: anywhere; }
.chart > div svg { display: block; width: 100%; height: auto; max-width: 760px; overflow: visible; font-family: inherit; font-size: 12px; color: var(--ink); }
.chart > div text { white-space: pre; font-variant-numeric: tabular-nums; }
.chart .narrow, .chart .widest { display: none; }
.charts .chart:has(> .widest) { grid-column: 1 / -1; }
.chart > .widest svg { max-width: none; }
@container (min-width: 900px) {
  .chart .widest { display: block; }
  .chart .widest ~ .wide { display: none; }
}
@container (max-width: 439px) {
  .chart .wide { display: none; }
  .chart .narrow { display: block; }
}
.chart [aria-label="dot"] > :hover { stroke: var(--ink); stroke-width: 3px; }
.chart [aria-label="pairs"] > :hover, .chart [aria-label="medians"] > :hover { stroke: var(--ink); stroke-width: 2px; }

.scroll {
  overflow-x: auto; container-type: inline-size;
  /* A shade at the right edge, which the end of the table covers: there is more to scroll to. */
  background: linear-gradient(to left, var(--card) 16px, transparent) right / 48px 100% no-repeat local,
    linear-gradient(to left, var(--shade), transparent) right / 16px 100% no-repeat;
}
.beside .scroll { max-height: 600px; overflow-y: auto; }
.beside table { font-size: 12px; }
.beside td.text { white-space: nowrap; }
.beside th, .beside td { padding: 4px 6px; }
.beside details { margin-top: 0; }
.beside thead th { position: sticky; top: 0; z-index: 1; background: var(--card); }
.beside details thead th:not(.text) { white-space: normal; max-width: 9ch; }
.beside thead th:first-child { z-index: 2; }
table { border-collapse: collapse; font-size: 13.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding: 0 0 8px; font-size: 13px; }
th, td { padding: 4px 12px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { padding-left: 8px; }
caption span { display: inline-block; position: sticky; left: 0; max-width: 100cqi; }
thead th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
thead th[scope="colgroup"] { text-align: left; color: var(--ink); white-space: normal; min-width: 16ch; max-width: 32ch; overflow-wrap: break-word; }
tbody th { font-weight: 500; }
tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--card); }
thead tr + tr > :first-child { position: static; }
tfoot th, tfoot td { border-bottom: 0; font-weight: 650; }
tfoot th { white-space: normal; max-width: 12ch; }
tbody tr:hover > * { background: var(--stripe); }
.group { border-left: 1px solid var(--rule); }
th.text, td.text, th.name { text-align: left; white-space: normal; overflow-wrap: break-word; min-width: 9ch; max-width: 44ch; }
th.name { min-width: 24ch; }
td svg { display: block; }
.faster { color: var(--fast); font-weight: 600; }
.slower, .trouble, tr.slow th { color: var(--slow); font-weight: 600; }
tr.differs th::after { content: " ≠"; color: var(--slow); }

details { margin-top: 14px; }
.scroll + .scroll { margin-top: 18px; }
summary { cursor: pointer; font-weight: 600; font-size: 14px; color: var(--link); width: fit-content; overflow-wrap: anywhere; }
details[open] > summary { margin-bottom: 10px; }

@media (max-width: 600px) {
  header, main { padding-left: 12px; padding-right: 12px; }
  section { padding: 16px 14px; border-radius: 8px; }
  h1 { font-size: 22px; }
  th, td { padding: 4px 9px; }
  th.name, th.text:first-child { min-width: 12ch; max-width: 40vw; }
}
@media print {
  :root, :root:has(input:checked) { color-scheme: light; }
  body { background: none; font-size: 12px; }
  header, main { max-width: none; padding: 0; }
  section { border: 0; padding: 0; break-inside: auto; }
  .warnings { border: 1px solid var(--warn-edge); padding: 12px; }
  .theme { display: none; }
  .chart, tr, h2 { break-inside: avoid; }
  h2 { break-after: avoid; }
  .charts { grid-template-columns: 1fr 1fr; }
  .charts.beside { grid-template-columns: 1fr; }
  .scroll, .beside .scroll { overflow: visible; max-height: none; }
  table { font-size: 10px; }
  th, td { padding: 2px 6px; }
  details::details-content { display: block; content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; }
}
`;
