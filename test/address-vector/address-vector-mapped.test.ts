// efa of 1.x maps the shared memory of a peer of its host also if FI_EFA_ENABLE_SHM_TRANSFER=0.
import '../support/softefa.js';
import { rmSync, writeFileSync } from 'node:fs';
import { type Endpoint, open, version } from 'libfabric';
import { describe, expect, onTestFinished, test } from 'vitest';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { closing, fabricError } from '../support/transfer.js';

const isOld = version().major < 2;

/** The file of an efa endpoint in /dev/shm: its GID, queue pair, key and user. */
function fileOf(address: Uint8Array): string {
  const bytes = Buffer.from(address);
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  const gid = new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
  const [pair, key] = [hex(bytes.readUInt16LE(16), 4), hex(bytes.readUInt32LE(20), 8)];
  return `/dev/shm/${gid}_${pair}_${key}_${hex(process.getuid!(), 4)}`;
}

describe.skipIf(!isOld).each(drivers)('%s driver', (driver) => {
  const opened = async () => closing(await open({ provider: 'efa', caps: ['FI_MSG'], driver }));
  const delivers = (from: Endpoint, to: Endpoint) =>
    settle(
      Promise.all([
        from.send(new Uint8Array(8), from.av.insert(to.address)),
        to.recv(new Uint8Array(8)),
      ]),
      from.domain,
      to.domain,
    );

  test('the address of a closed endpoint of this process is refused, and others are accepted', async () => {
    const [a, b, c] = [await opened(), await opened(), await opened()];
    const address = b.address;
    await settle(b.close(), a.domain, b.domain);
    expect(() => a.av.insert(address)).toThrow(fabricError('FI_EADDRNOTAVAIL'));
    await delivers(a, c);
  });

  test('an address is refused if the file of its shared memory is invalid', async () => {
    const a = await opened();
    const address = Uint8Array.from(a.address);
    address[20]! ^= 0xff;
    const file = fileOf(address);
    onTestFinished(() => rmSync(file, { force: true }));
    writeFileSync(file, new Uint8Array(4096).fill(255));
    expect(() => a.av.insert(address)).toThrow(fabricError('FI_EADDRNOTAVAIL'));
  });
});
