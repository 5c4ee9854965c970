// The texts that `npm start` prints.

const LABEL = 11; // characters

/** Three significant digits. */
export const figureText = (value: number): string => String(Number(value.toPrecision(3)));

/** A line of a provider's summary. */
export const line = (label: string, text: string): string => `${label.padEnd(LABEL)}${text}`;

export const serviceText = (microseconds: number): string =>
  line(
    'promises',
    `${figureText(microseconds)} µs for 64 B, with a promise for each message, as a service sends`,
  );

export function deviceText(provider: string, name: string, emulated: boolean): string {
  const remarks: Record<string, string> = {
    efa: emulated
      ? 'a device in software: its speed is not that of EFA'
      : 'within this machine, where efa may use shared memory',
    shm: 'the shared memory of this machine',
    tcp: 'sockets within this machine',
  };
  return line('ran on', `${name}: ${remarks[provider]}`);
}

export function nextSteps(verbose: boolean): string {
  const steps = [
    ['npx libfabric doctor', 'whether EFA works on this machine, and how to fix it if not'],
    ['npx libfabric --help', 'the benchmarks and checks between two machines, and more'],
    ...(verbose ? [] : [['npm start -- -v', 'the tables of all sizes']]),
    ['README.md', 'the first program, in ten lines'],
  ];
  const lines = steps.map(([command = '', what]) => `  ${command.padEnd(22)}${what}`);
  return `\nThe same transfers ran once more without a clock, and all data was verified. Next:\n${lines.join('\n')}`;
}
