import { portNumbers } from '../../base/sysfs.js';
import { CounterMeter } from '../../verbs/counter-meter.js';
import { findFolders } from '../../verbs/find.js';
import { whyNoDevices } from '../../verbs/index.js';

/** A port of a device, with its counters. */
export interface Source {
  readonly device: string;
  readonly port: number;
  /** The device's folder in sysfs. */
  readonly path: string;
  readonly meter: CounterMeter;
}

/** The ports of all devices, or of one. Throws an error with the reason if there is none. */
export function sources(device?: string): Source[] {
  const found = findFolders();
  const chosen = found.filter(({ name }) => device === undefined || name === device);
  if (chosen.length === 0) {
    const names = found.map(({ name }) => name).join(', ');
    const absence = whyNoDevices()?.message ?? `There is no device ${device}, but ${names}.`;
    throw new Error(absence);
  }
  return chosen.flatMap(({ name, path }) =>
    portNumbers(path).map((port) => ({
      device: name,
      port,
      path,
      meter: new CounterMeter(path, port),
    })),
  );
}
