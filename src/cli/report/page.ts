import { countersSection } from './counters.js';
import { cpuSection } from './cpu.js';
import { environmentSection } from './environment.js';
import { dateText } from './format.js';
import { Html, html } from './html.js';
import { matrixSection } from './matrix.js';
import { nicsSection } from './nics.js';
import { overviewSection } from './overview.js';
import { percentilesSection } from './percentiles.js';
import { railsSection } from './rails.js';
import { type Input, namedInputs } from './run.js';
import { spreadSection } from './spread.js';
import { style } from './style.js';
import { throughputSection } from './throughput.js';
import { warningsSection } from './warnings.js';

// The page contains no script, and this policy forbids it to run or load any.
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** The page of a report: one self-contained file. */
export function reportPage(title: string, inputs: readonly Input[], made: Date): string {
  const { runs, matrices } = namedInputs(inputs);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<header><h1>${title}</h1>
<p>Made ${dateText(made.toISOString())} UTC of ${inputs.length === 1 ? 'one result' : `${inputs.length} results`}</p>
${themeSwitch()}</header>
<main>
${warningsSection(runs, matrices)}
${overviewSection(runs)}
${railsSection(runs)}
${throughputSection(runs)}
${nicsSection(runs)}
${percentilesSection(runs)}
${spreadSection(runs)}
${cpuSection(runs)}
${countersSection(runs)}
${matrices.map(matrixSection)}
${environmentSection([...runs, ...matrices])}
</main>
</body>
</html>
`;
  return page.markup;
}

// The rules in style.ts depend on it.
function themeSwitch(): Html {
  const choices = ['system', 'light', 'dark'].map(
    (theme, i) =>
      html`<label><input type="radio" name="theme" id="theme-${theme}"${
        i === 0 && html` checked`
      }><span>${theme}</span></label>`,
  );
  return html`<fieldset class="theme"><legend>Colours</legend>${choices}</fieldset>`;
}
