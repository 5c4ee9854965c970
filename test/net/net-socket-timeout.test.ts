// Timeouts of sockets of libfabric/net: as those of node:net. Each test runs over both.
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { closeOf, eventsOf, isQuick, libraries, type Socket } from '../support/net-libraries.js';

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe.each(casesOf(libraries, isQuick))('%s', (_name, { serve, open, pair }) => {
  test("setTimeout() emits 'timeout' without activity, and 0 disables it", async () => {
    const [client, peer] = await pair();
    let timeouts = 0;
    client.setTimeout(20, () => (timeouts += 1));
    expect(client.timeout).toBe(20);
    await once(client, 'timeout');
    expect(timeouts).toBe(1);
    client.setTimeout(0);
    expect(client.timeout).toBe(0);
    await wait(40);
    expect([timeouts, client.destroyed, peer.destroyed]).toEqual([1, false, false]);
  });

  test('a timeout emits one event, and the next one after more activity', async () => {
    const [client] = await pair();
    const events = eventsOf(client, 'timeout');
    client.setTimeout(10);
    await once(client, 'timeout');
    await wait(25);
    expect(events.length).toBe(1);
    client.write('x');
    await once(client, 'timeout');
    expect(events.length).toBe(2);
  });

  test.each(['writes', 'reads'])('a socket that %s is active', async (what) => {
    const [client, peer] = await pair();
    const writer = what === 'writes' ? client : peer;
    let activeAt = performance.now();
    const isActive = () => (activeAt = performance.now());
    peer.resume();
    client.on('data', isActive).setTimeout(30);
    const timer = setInterval(() => {
      if (what === 'writes') isActive();
      writer.write('x');
    }, 5);
    onTestFinished(() => clearInterval(timer));
    setTimeout(() => clearInterval(timer), 60);
    await once(client, 'timeout');
    expect(performance.now() - activeAt).toBeGreaterThan(28);
  });

  test('a shorter timeout replaces a longer one, and starts anew', async () => {
    const [client] = await pair();
    client.setTimeout(100_000);
    client.setTimeout(5);
    await once(client, 'timeout');
    client.setTimeout(6);
    await once(client, 'timeout');
    expect(client.timeout).toBe(6);
  });

  test('setTimeout(0, listener) removes the listener', async () => {
    const [client] = await pair();
    const listener = () => expect.fail('it was removed');
    client.setTimeout(100_000, listener);
    expect(client.listeners('timeout')).toHaveLength(1);
    client.setTimeout(0, listener);
    expect(client.listeners('timeout')).toEqual([]);
    client.setTimeout(5);
    await once(client, 'timeout');
  });

  test('a wrong argument is thrown', async () => {
    const [client] = await pair();
    for (const milliseconds of [0, 0.001, 1, 1e6, undefined]) {
      if (milliseconds !== undefined) expect(client.setTimeout(milliseconds)).toBe(client);
    }
    for (const milliseconds of [-1, -0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => client.setTimeout(milliseconds)).toThrow(RangeError);
    }
    for (const milliseconds of ['20', null, undefined, {}, true]) {
      expect(() => client.setTimeout(milliseconds as number)).toThrow(TypeError);
    }
    for (const listener of [1, 'x', {}, null]) {
      for (const milliseconds of [0, 1000]) {
        expect(() => client.setTimeout(milliseconds, listener as () => void)).toThrow(TypeError);
      }
    }
  });

  test('connect() has a timeout, also until it has connected', async () => {
    const { port } = await serve();
    const client = open(port, { timeout: 10 });
    expect(client.timeout).toBe(10);
    await once(client, 'timeout');
    expect(client.destroyed).toBe(false);
  });

  test('a socket that has closed emits no timeout', async () => {
    const [client, peer] = await pair();
    const sockets: Socket[] = [client, peer];
    const events = sockets.map((socket) => eventsOf(socket.setTimeout(300), 'timeout'));
    const closed = Promise.all(sockets.map(closeOf));
    client.destroy();
    await closed;
    client.setTimeout(1);
    await wait(350);
    expect(events).toEqual([[], []]);
  });
});
