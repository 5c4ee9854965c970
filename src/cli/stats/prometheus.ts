import { join } from 'node:path';
import { identityOf } from '../../base/sysfs.js';
import { Counter, Gauge, Registry } from '../../vendor/prom-client.js';
import { stateOf } from '../../verbs/ports.js';
import type { Source } from './sources.js';

/** Metrics in the Prometheus text format. */
export async function metricsText(all: readonly Source[]): Promise<{ type: string; text: string }> {
  const registry = new Registry();
  addDevices(registry, all);
  addCounters(registry, all);
  return { type: registry.contentType, text: await registry.metrics() };
}

function addDevices(registry: Registry, all: readonly Source[]): void {
  const registers = [registry];
  const about = new Gauge({
    name: 'rdma_device_info',
    help: 'An RDMA device; always 1.',
    labelNames: ['device', 'pci_address', 'driver', 'driver_version', 'firmware'],
    registers,
  });
  const active = new Gauge({
    name: 'rdma_port_active',
    help: 'Whether the port is in state ACTIVE.',
    labelNames: ['device', 'port'],
    registers,
  });
  for (const { device, port, path } of all) {
    const { pciAddress, driver, driverVersion, firmware } = identityOf(path);
    const labels = {
      device,
      pci_address: pciAddress ?? '',
      driver: driver ?? '',
      driver_version: driverVersion ?? '',
      firmware: firmware ?? '',
    };
    about.set(labels, 1);
    const isActive = stateOf(join(path, 'ports', String(port))) === 'ACTIVE';
    active.set({ device, port: String(port) }, isActive ? 1 : 0);
  }
}

/** `rdma_device_NAME_total` of a device, `rdma_port_NAME_total` of a port. */
function addCounters(registry: Registry, all: readonly Source[]): void {
  const metrics = new Map<string, Counter>();
  const metric = (scope: string, counter: string, labelNames: string[]) => {
    const name = `rdma_${scope}_${counter.replaceAll(/\W/g, '_')}_total`;
    const help = `The counter ${counter} of the driver, of each ${scope}.`;
    const made =
      metrics.get(name) ?? new Counter({ name, help, labelNames, registers: [registry] });
    metrics.set(name, made);
    return made;
  };
  const counted = new Set<string>();
  for (const source of all) {
    const { device } = source;
    const port = String(source.port);
    const values = source.meter.read();
    for (const [name, value] of Object.entries(values.port)) {
      metric('port', name, ['device', 'port']).inc({ device, port }, Number(value));
    }
    if (counted.has(device)) continue; // another port already reported the device's counters
    counted.add(device);
    for (const [name, value] of Object.entries(values.device)) {
      metric('device', name, ['device']).inc({ device }, Number(value));
    }
  }
}
