import { describe, expect, test } from 'vitest';
import { moreIn, windowsOf } from '../../../../dist/cli/fabtests/benchmarks/shared/windows.js';
import {
  chooseSettings,
  type TestKind,
} from '../../../../dist/cli/fabtests/common/choose-settings.js';
import {
  addTestOptions,
  type Flags,
  TestCommand,
} from '../../../../dist/cli/fabtests/common/options.js';
import {
  allSizes,
  iterationsOf,
  parseSizes,
  roomOf,
  sizesOf,
} from '../../../../dist/cli/fabtests/common/sizes.js';
import { call } from '../../../support/call.js';
import { libfabric } from '../../../support/command.js';
import { NOT_PORTS } from '../../../support/services.js';

const RMA: TestKind = {
  command: 'rma-bw',
  type: 'FI_EP_RDM',
  operations: ['write', 'read', 'writedata'],
};

/** Returns the settings of a command line. */
function settings(line: string, kind: TestKind = RMA) {
  const command = addTestOptions(new TestCommand('test').argument('[server]'));
  command.exitOverride().configureOutput({ writeErr: () => {} });
  const words = line.split(' ').filter(Boolean);
  command.parse(words, { from: 'user' });
  return chooseSettings(kind, command.opts<Flags>(), command.args[0], {
    argv: words,
    clientArgv: [],
  });
}

describe('options', () => {
  test('have the defaults of fabtests', () => {
    expect(settings('')).toMatchObject({
      warmUp: 10,
      window: 64,
      operation: 'write',
      verify: false,
      oobExchange: false,
      oobPort: 3000,
      output: 'table',
    });
  });

  test('-b and -E take a port only after an equals sign', () => {
    expect(settings('-E host')).toMatchObject({ host: 'host', oobExchange: true, oobPort: 3000 });
    expect(settings('-b=9000 host')).toMatchObject({ host: 'host', oobSync: true, oobPort: 9000 });
    expect(settings('-E=9000')).toMatchObject({ oobSync: false, oobPort: 9000 });
    expect(() => settings('-E9000')).toThrow('=9000');
  });

  test.each(['-B', '-P', '--source-port', '--port'])('%s takes a port or a name', (option) => {
    const command = () => addTestOptions(new TestCommand('test').exitOverride());
    const parse = (text: string) => {
      const quiet = command().configureOutput({ writeErr: () => {} });
      return quiet.parse([option, text], { from: 'user' }).opts<Flags>();
    };
    for (const text of ['0', '65535', '0080', 'http', '3com-tsmux', '1e3']) {
      const { sourcePort, port } = parse(text);
      expect(sourcePort ?? port).toBe(text);
    }
    for (const text of NOT_PORTS) expect(() => parse(text)).toThrow('a port from 0 to 65535');
  });

  test.each([
    ['rdm-pingpong', '-B'],
    ['cq-data', '-P'],
    ['pingpong', '-B'],
    ['check', '-P'],
    ['info', '-P'],
    ['doctor', '--port'],
    ['rma-bw', '-b'],
  ])('%s %s refuses a number that is no port, before it listens', async (command, option) => {
    for (const text of NOT_PORTS) {
      const args = option === '-b' ? [`-b=${text}`] : [option, text];
      const { status, stderr } = await call(command, ...args);
      expect(stderr).toMatch(/port.*65535|whole number from 1 to 65535/);
      expect(status).not.toBe(0);
    }
  });

  test('efa and shm exchange addresses out of band, because host names do not name their addresses', () => {
    expect(settings('-p efa host')).toMatchObject({ oobExchange: true, oobSync: false });
    expect(settings('-p shm -s name host')).toMatchObject({ oobExchange: false });
    expect(settings('-p tcp host')).toMatchObject({ oobExchange: false });
  });

  test('can be combined and attached, as with getopt', () => {
    expect(settings('-vl -I100 -W 8')).toMatchObject({ verify: true, iterations: 100, window: 8 });
  });

  test('-D, -i, -H and -R choose memory of a device', () => {
    expect(settings('-i 2').deviceMemory).toBeUndefined();
    expect(settings('-D cuda').deviceMemory).toEqual({ type: 'cuda', device: 0 });
    expect(settings('-D CUDA -i 2 -H')).toMatchObject({ deviceMemory: { device: 2 }, hmem: true });
    expect(settings('-D cuda -R').deviceMemory).toEqual({
      type: 'cuda',
      device: 0,
      access: 'FI_MR_DMABUF',
    });
    expect(settings('-D neuron -p efa').deviceMemory).toEqual({ type: 'neuron', device: 0 });
    expect(settings('-D NEURON -i 2').deviceMemory).toEqual({ type: 'neuron', device: 2 });
    expect(settings('-H')).toMatchObject({ hmem: true });
    expect(settings('-H').deviceMemory).toBeUndefined();
  });

  test.each([
    ['-e msg', /FI_EP_MSG.*-e rdm/],
    ['-e dgram', /dgram-pingpong/],
    ['-e xrc', /rdm or dgram/],
    ['-D neuron -p tcp', /tcp copies with the CPU.*use -p efa/],
    ['-D neuron -j 64', /-j: the CPU copies/],
    ['-D metal', /-D must be cuda or neuron, not metal/],
    ['-D rocr', /-D must be cuda or neuron, not rocr/],
    ['-D cuda -j 64', /-j: the CPU copies/],
    ['-D cuda -i -1', /-i.*whole number/],
    ['-R', /add -D with cuda or neuron/],
    ['-a name', /address vectors/],
    ['-K', /fork/],
    ['-Q', /event queue/],
    ['-c sread', /-c spin/],
    ['-t counter', /rdm-cntr-pingpong/],
    ['-t both', /queue or counter/],
    ['-o senddata', /write, read, writedata/],
    ['-F ipv4', /fi_sockaddr_in/],
    ['--fabtests new', /1\.17/],
    ['--threading fid', /safe, completion, domain/],
    ['-S 1.5', /not a number of bytes/],
    ['-S r:4,0,8', /increment > 0/],
    ['-I 0', /from 1/],
    ['-x', /unknown option/],
  ])('%s is refused with the reason', (line, reason) => {
    expect(() => settings(line)).toThrow(reason);
  });

  test('a refused option ends the command with status 1 and a line on stderr', () => {
    const { status, stderr, stdout } = libfabric(['rma-bw', '-e', 'msg']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^error: -e msg: .*\n$/);
  });

  test.each([
    [['-o', 'writedata'], 'one NIC'],
    [['-v'], 'all-to-all -v'],
    [['-d', 'eth0'], 'cannot be used with'],
  ])('--nics cannot be combined with %s', async (args, reason) => {
    const { status, stderr } = await call('rma-bw', '--nics', 'all', ...args);
    expect(status).toBe(1);
    expect(stderr).toContain(reason);
  });

  test('the help lists them in groups', async () => {
    const { stdout } = await call('rdm-pingpong', '--help');
    for (const heading of ['Peer and provider:', 'Out of band (TCP):', 'What to measure:']) {
      expect(stdout).toContain(heading);
    }
    expect(stdout).not.toContain('--av-name');
  });
});

describe('sizes', () => {
  test('all are the powers of two and the sizes halfway between, up to 8 MiB', () => {
    expect(allSizes().slice(0, 9)).toEqual([1, 2, 3, 4, 6, 8, 12, 16, 24]);
    expect(allSizes().slice(-3)).toEqual([2 ** 22, 3 * 2 ** 21, 2 ** 23]);
    expect(allSizes()).toHaveLength(46);
  });

  test('are parsed in every form of -S', () => {
    expect(sizesOf(parseSizes('100'), 2 ** 30)).toEqual([100]);
    expect(sizesOf(parseSizes('r:1,3,10'), 2 ** 30)).toEqual([1, 4, 7, 10]);
    expect(sizesOf(parseSizes('l:5,3,5'), 2 ** 30)).toEqual([5, 3, 5]);
    expect(sizesOf(parseSizes('l:64,4k,1M'), 2 ** 30)).toEqual([64, 4096, 2 ** 20]);
    expect(sizesOf(parseSizes('r:1k,1K,3k'), 2 ** 30)).toEqual([1024, 2048, 3072]);
    expect(() => parseSizes('64,4k')).toThrow('several sizes begin with l: l:64,4k');
    for (const text of ['', '64x', '1.5k', '-1', ' 64', 'l:', '9'.repeat(20)]) {
      expect(() => parseSizes(text)).toThrow('is not a number of bytes');
    }
    expect(sizesOf(parseSizes('all'), 4)).toEqual([1, 2, 3, 4]);
    expect(sizesOf({ kind: 'default' }, 5000)).toEqual([64, 256, 1024, 4096]);
  });

  test('have the buffer sizes and iterations of fabtests', () => {
    expect(roomOf({ kind: 'default' }, 2 ** 30)).toBe(2 ** 23);
    expect(roomOf({ kind: 'one', size: 10 }, 2 ** 30)).toBe(10);
    expect([65_535, 65_536, 2 ** 20].map((size) => iterationsOf(size, true))).toEqual([
      20_000, 2000, 200,
    ]);
    expect(iterationsOf(64, false)).toBe(10_000);
  });
});

describe('windows', () => {
  const plan = (...args: Parameters<typeof windowsOf>) => {
    const { windows, clockAt } = windowsOf(...args);
    return [
      clockAt,
      ...windows.map(
        (w) => `${w.from}+${w.count}${w.acknowledged ? ' ack' : ''}${w.warmUp ? ' warm' : ''}`,
      ),
    ];
  };

  test('the clock starts after the warm-up in the first window, and a last empty window is acknowledged', () => {
    expect(plan(64, 10, 118, false)).toEqual([1, '0+10 warm', '10+54 ack', '0+64 ack', '0+0 ack']);
    expect(plan(64, 10, 100, false)).toEqual([1, '0+10 warm', '10+54 ack', '0+46 ack']);
  });

  test('--use-fi-more sets FI_MORE on all but the last of a window, and not in the warm-up', () => {
    const more = (line: string) =>
      windowsOf(4, 2, 3, false).windows.map((window) =>
        Array.from({ length: window.count }, (_, i) => moreIn(window, settings(line))(i)),
      );
    const MORE = { flags: ['FI_MORE'] };
    const NONE = undefined;
    expect(more('--use-fi-more')).toEqual([[NONE, NONE], [MORE, NONE], [NONE]]);
    expect(more('')).toEqual([[NONE, NONE], [NONE, NONE], [NONE]]);
  });

  test('since 2.4 the warm-up has its own windows', () => {
    expect(plan(64, 10, 100, true)).toEqual([1, '0+10 ack warm', '0+64 ack', '0+36 ack']);
    expect(plan(4, 4, 4, true)).toEqual([2, '0+4 ack warm', '0+0 ack warm', '0+4 ack', '0+0 ack']);
  });
});
