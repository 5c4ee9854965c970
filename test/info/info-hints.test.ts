import { networkInterfaces } from 'node:os';
import { getInfo, version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { knowsDomain, NO_SERVICES } from '../support/services.js';

const handled = new Set(['FI_CONTEXT', 'FI_CONTEXT2', 'FI_MSG_PREFIX', 'FI_RX_CQ_DATA']);

// 127.0.0.1 and port 0 as a struct sockaddr_in.
const loopback = new Uint8Array([2, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);

describe('hints select', () => {
  test('the endpoint type', () => {
    for (const type of ['FI_EP_RDM', 'FI_EP_DGRAM', 'FI_EP_MSG'] as const) {
      const found = getInfo({ epAttr: { type } });
      expect(new Set(found.map((info) => info.epAttr.type))).toEqual(new Set([type]));
    }
  });

  test('capabilities: every entry has the requested ones', () => {
    const caps = ['FI_TAGGED', 'FI_RMA', 'FI_SOURCE'] as const;
    const found = getInfo({ caps });
    expect(found.length).toBeGreaterThan(0);
    for (const info of found) expect(info.caps).toEqual(expect.arrayContaining([...caps]));
  });

  test('no primary capability that was not requested', () => {
    for (const info of getInfo({ fabricAttr: { provName: 'shm' }, caps: ['FI_MSG'] })) {
      expect(info.caps).not.toContain('FI_ATOMIC');
      expect(info.caps).not.toContain('FI_RMA');
    }
  });

  test('the domain, even if a provider ignores the hint', () => {
    const found = getInfo({ domainAttr: { name: 'lo' } });
    expect(found.length).toBeGreaterThan(0);
    expect(new Set(found.map((info) => info.domainAttr.name))).toEqual(new Set(['lo']));
    expect(getInfo({ domainAttr: { name: 'nonesuch' } })).toEqual([]);
  });

  test('the fabric', () => {
    const found = getInfo({ fabricAttr: { name: '127.0.0.1/32' } });
    expect(found.length).toBeGreaterThan(0);
    for (const info of found) {
      expect(info.fabricAttr.name).toBe('127.0.0.1/32');
      expect(info.domainAttr.name).toBe('lo');
    }
  });

  test('the address format', () => {
    const found = getInfo({ addrFormat: 'FI_SOCKADDR_IN6' });
    expect(new Set(found.map((info) => info.addrFormat))).toEqual(
      found.length > 0 ? new Set(['FI_SOCKADDR_IN6']) : new Set(),
    );
  });

  test('a minimum size', () => {
    for (const injectSize of [1, 64, 100n]) {
      const found = getInfo({ txAttr: { injectSize }, epAttr: { type: 'FI_EP_RDM' } });
      for (const info of found)
        expect(info.txAttr.injectSize).toBeGreaterThanOrEqual(Number(injectSize));
    }
    expect(getInfo({ txAttr: { injectSize: Number.MAX_SAFE_INTEGER } })).toEqual([]);
  });

  test('the message order', () => {
    const found = getInfo({ txAttr: { msgOrder: ['FI_ORDER_SAS'] }, caps: ['FI_MSG', 'FI_RMA'] });
    expect(found.length).toBeGreaterThan(0);
    for (const info of found) expect(info.txAttr.msgOrder).toContain('FI_ORDER_SAS');
  });

  test('an empty array if no provider matches', () => {
    expect(getInfo({ fabricAttr: { provName: 'nonesuch' } })).toEqual([]);
    expect(getInfo({ caps: ['bit 7'] })).toEqual([]);
    expect(getInfo({ addrFormat: 'FI_ADDR_0x4242' })).toEqual([]);
  });
});

describe('without explicit hints', () => {
  test('only the modes that this package supports are offered to providers', () => {
    for (const hints of [undefined, {}, { domainAttr: {} }]) {
      for (const info of getInfo(hints ?? {})) {
        for (const mode of info.mode) expect(handled).toContain(mode);
      }
    }
  });

  test('an empty mode offers none', () => {
    for (const info of getInfo({ mode: [] })) expect(info.mode).toEqual([]);
  });

  test('members that are undefined count as absent', () => {
    const hints = {
      node: undefined,
      caps: undefined,
      epAttr: undefined,
      txAttr: { size: undefined },
    };
    expect(getInfo(hints).length).toBe(getInfo().length);
  });

  test('members that are null count as absent', () => {
    expect(getInfo({ srcAddr: null, domainAttr: { name: null } }).length).toBe(getInfo().length);
  });
});

describe('addresses', () => {
  test('node and service are the destination', () => {
    const found = getInfo({
      node: '127.0.0.1',
      service: '7471',
      flags: ['FI_NUMERICHOST'],
      fabricAttr: { provName: 'udp' },
    });
    expect(found.length).toBeGreaterThan(0);
    for (const info of found) {
      expect(info.destAddr?.subarray(0, 8)).toEqual(new Uint8Array([2, 0, 29, 47, 127, 0, 0, 1]));
    }
  });

  test('with FI_SOURCE, node and service are the local address', () => {
    const found = getInfo({
      node: '127.0.0.1',
      service: '7471',
      flags: ['FI_SOURCE', 'FI_NUMERICHOST'],
      fabricAttr: { provName: 'udp' },
    });
    expect(found.length).toBeGreaterThan(0);
    for (const info of found) {
      expect(info.destAddr).toBeNull();
      expect(info.srcAddr?.subarray(0, 8)).toEqual(new Uint8Array([2, 0, 29, 47, 127, 0, 0, 1]));
    }
  });

  test.each(NO_SERVICES)('the service %j is no port, and unknown', (service) => {
    const fabricAttr = { provName: 'udp' };
    expect(getInfo({ node: '127.0.0.1', service, flags: ['FI_SOURCE'], fabricAttr })).toEqual([]);
  });

  test.runIf(knowsDomain)('the name of a service is its port', () => {
    const fabricAttr = { provName: 'udp' };
    const at = { node: '127.0.0.1', flags: ['FI_SOURCE'], fabricAttr } as const;
    const [named] = getInfo({ ...at, service: 'domain' });
    expect(named?.srcAddr?.subarray(0, 8)).toEqual(new Uint8Array([2, 0, 0, 53, 127, 0, 0, 1]));
    expect(getInfo({ ...at, service: '53' })[0]?.srcAddr).toEqual(named?.srcAddr);
  });

  test('the bytes of srcAddr select the interface', () => {
    expect(Object.keys(networkInterfaces())).toContain('lo');
    const found = getInfo({
      addrFormat: 'FI_SOCKADDR_IN',
      srcAddr: loopback,
      fabricAttr: { provName: 'udp' },
    });
    expect(new Set(found.map((info) => info.domainAttr.name))).toEqual(new Set(['lo']));
  });

  test('the bytes of an entry are copies', () => {
    const query = () => getInfo({ domainAttr: { name: 'lo' }, fabricAttr: { provName: 'udp' } });
    query()[0]?.srcAddr?.fill(0xff);
    expect(query()[0]?.srcAddr?.[0]).not.toBe(0xff);
  });
});

describe('apiVersion', () => {
  const { major, minor, apiVersion } = version();

  test('is the newest of package and library if omitted, and can be older', () => {
    expect(getInfo()[0]?.fabricAttr.apiVersion).toBe(apiVersion);
    expect(getInfo(null)[0]?.fabricAttr.apiVersion).toBe(apiVersion);
    expect(getInfo({ apiVersion: '1.9' })[0]?.fabricAttr.apiVersion).toBe('1.9');
    expect(getInfo({ apiVersion })[0]?.fabricAttr.apiVersion).toBe(apiVersion);
  });

  test.each(['1.4', `${major}.${minor + 1}`])('cannot be %s', (wrong) => {
    expect(() => getInfo({ apiVersion: wrong })).toThrow(
      expect.objectContaining({
        code: 'ERR_OUT_OF_RANGE',
        message: expect.stringContaining(`from 1.5 to ${apiVersion}`),
      }),
    );
  });
});

test('FI_PROV_ATTR_ONLY lists all built-in providers', () => {
  const found = getInfo({ flags: ['FI_PROV_ATTR_ONLY'] });
  const names = found.map((info) => info.fabricAttr.provName);
  expect(names).toEqual(expect.arrayContaining(['shm', 'tcp', 'udp']));
  expect(found.every((info) => info.nic === null)).toBe(true);
});
