import { release } from 'node:os';
import type { AnyInfo } from '../../contract/info-types.js';
import type { EndpointBase } from '../../endpoint/endpoint.js';
import { version } from '../../info/library.js';
import { isSoftwareNic } from '../../info/software-nic.js';
import { packageVersion } from './package-version.js';
import { rdmaOf } from './rdma-support.js';
import type { ResultDevice, ResultSoftware } from './result.js';

type Asked = Pick<EndpointBase, 'info' | 'getOption'>;

/** The device of an endpoint. */
export function deviceOf(endpoint: Asked): ResultDevice {
  const rdma = rdmaOf(endpoint);
  return { ...deviceOfEntry(endpoint.info), ...(rdma && { rdma }) };
}

/** The device of an entry of getInfo(). */
export function deviceOfEntry(entry: AnyInfo): ResultDevice {
  const { fabricAttr, domainAttr, epAttr } = entry;
  const provider = fabricAttr.provName ?? '';
  const domain = domainAttr.name ?? '';
  return {
    provider,
    fabric: fabricAttr.name ?? '',
    domain,
    endpointType: epAttr.type,
    protocol: epAttr.protocol,
    software: isSoftwareNic(entry),
  };
}

/** The software of this machine. */
export function softwareInUse(): ResultSoftware {
  return {
    package: packageVersion(),
    libfabric: version().string,
    node: process.version,
    kernel: `Linux ${release()}`,
  };
}

/** Warnings against misreading a device's figures. */
export function warningsOf(device: ResultDevice): string[] {
  const warnings: string[] = [];
  if (device.domain.startsWith('softefa')) {
    warnings.push(`${device.domain} is a device in software: its speed is not that of EFA`);
  }
  if (device.provider.includes('shm')) {
    warnings.push('shm stays within one host: no network is measured');
  }
  return warnings;
}
