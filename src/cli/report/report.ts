import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command } from 'commander';

interface Flags {
  readonly output: string;
  readonly title: string;
}

/** libfabric report: an HTML page from benchmark results. */
export function reportCommand(): Command {
  return new Command('report')
    .summary('make an HTML page from benchmark results')
    .description(
      'Makes an HTML page from benchmark results: charts and tables of bandwidth, latency, CPU and ' +
        'counters, and of all pairs of ranks. Several runs are compared with the first. ' +
        "The page is one file and needs no network. Results may also be the output of fabtests' benchmarks.",
    )
    .argument(
      '<result...>',
      'JSON of this package, or output of fabtests (YAML of -m, or the table)',
    )
    .option('-o, --output <file>', 'where to write the page; - is standard output', 'report.html')
    .option('--title <text>', 'title of the page', 'libfabric benchmarks')
    .addHelpText(
      'after',
      `
Examples:
  npx libfabric report -o efa.html efa.json
  npx libfabric report --title 'shm against tcp' shm.json tcp.json fi_rma_bw.yaml`,
    )
    .action(async (files: string[], { output, title }: Flags) => {
      if (files.some((file) => resolve(file) === resolve(output))) {
        throw new Error(`${output}: is a result, and would be overwritten`);
      }
      // Imported here, because the chart libraries would slow down every other command.
      const { reportPage } = await import('./page.js');
      const { readInputs } = await import('./read.js');
      const page = reportPage(title, files.flatMap(readInputs), new Date());
      if (output === '-') process.stdout.write(page);
      else {
        writeFileSync(output, page);
        console.log(output);
      }
    });
}
