import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrowserPage, findChromium } from '../../support/chromium.js';
import { ReportFolder } from '../../support/report.js';
import { benchmark, fullRow, slowMatrix, transferRow } from '../../support/results.js';

const chromium = findChromium();
const folder = new ReportFolder();
const sizes = Array.from({ length: 24 }, (_, power) => 2 ** power);

/** Runs in the page. Returns the state of the charts. */
const LOOK = `() => {
  const shown = (element) => element.getBoundingClientRect().width > 0;
  const boxes = (elements) => elements.map((element) => element.getBoundingClientRect());
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const figures = [...document.querySelectorAll('figure')].map((figure) => {
    const drawings = [...figure.querySelectorAll('svg[role=img]')].filter(shown);
    const texts = boxes([...(drawings[0]?.querySelectorAll('text') ?? [])]);
    const overlaps = texts.flatMap((a, i) => texts.slice(i + 1).filter((b) => !apart(a, b)));
    const marks = drawings[0]?.querySelectorAll('path[d], rect').length ?? 0;
    return { drawings: drawings.length, marks, overlaps: overlaps.length };
  });
  return {
    figures,
    background: getComputedStyle(document.body).backgroundColor,
    sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}`;

interface Look {
  readonly figures: { drawings: number; marks: number; overlaps: number }[];
  readonly background: string;
  readonly sideways: number;
}

const brightness = (colour: string) =>
  (colour.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;

describe('in Chromium', () => {
  let page: BrowserPage;
  let url: string;

  beforeEach(({ skip }) => skip(chromium === undefined, 'Chromium is not installed'));
  beforeAll(async () => {
    if (chromium === undefined) return;
    const rows = (factor: number) => sizes.map((size) => fullRow(size, factor + size / 9000));
    const files = [1, 2, 3].map((factor) =>
      folder.write(
        `${factor}.json`,
        benchmark({
          label: `run ${factor} </script><img src=x onerror=alert(1)>`,
          rows: rows(factor),
        }),
      ),
    );
    files.push(folder.write('matrix.json', slowMatrix(16, 5, 400)));
    const transfers = [2 ** 20, 2 ** 26].map(transferRow);
    files.push(folder.write('transfer.json', benchmark({ command: 'transfer', rows: transfers })));
    expect((await folder.report('-o', 'page.html', ...files)).stderr).toBe('');
    url = pathToFileURL(join(folder.path, 'page.html')).href;
    page = await BrowserPage.open(chromium);
  });
  afterAll(async () => {
    await page?.close();
    folder.remove();
  });

  const look = async (width: number, scheme: string): Promise<Look> => {
    const size = { width, height: 900, deviceScaleFactor: 1, mobile: false };
    await page.call('Emulation.setDeviceMetricsOverride', size);
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await page.call('Emulation.setEmulatedMedia', { features });
    return page.evaluate<Look>(LOOK);
  };

  test('the page loads without a message, a dialog or a request', async () => {
    await page.goto(url);
    const reported = page.events.filter(({ method }) =>
      [
        'Log.entryAdded',
        'Runtime.consoleAPICalled',
        'Runtime.exceptionThrown',
        'Page.javascriptDialogOpening',
      ].includes(method),
    );
    expect(reported).toEqual([]);
    const requests = page.events
      .filter(({ method }) => method === 'Network.requestWillBeSent')
      .map(({ params }) => (params.request as { url: string }).url);
    expect(requests).toEqual([url]);
    expect(await page.evaluate('() => document.querySelectorAll("script, img").length')).toBe(0);
  });

  test.each([
    [1280, 'light'],
    [1280, 'dark'],
    [375, 'light'],
    [375, 'dark'],
  ])(
    'at %i pixels, %s, each chart is drawn once, its labels do not overlap, and the page does not scroll sideways',
    async (width, scheme) => {
      await page.goto(url);
      const { figures, background, sideways } = await look(width, scheme);
      expect(figures).toHaveLength(2 + 3 + 3 + 3 + 3 + 2 + 1);
      for (const figure of figures) {
        expect(figure).toMatchObject({ drawings: 1, overlaps: 0 });
        expect(figure.marks).toBeGreaterThan(2);
      }
      expect(brightness(background) > 127).toBe(scheme === 'light');
      expect(sideways).toBe(0);
    },
  );

  test('on a phone, the first column stays in place when a table scrolls', async () => {
    await page.goto(url);
    await look(375, 'light');
    const moved = await page.evaluate<{ tables: number; first: number; second: number }>(`() => {
      const wide = [...document.querySelectorAll('.scroll')].filter(
        (region) => region.scrollWidth > region.clientWidth && region.querySelector('tbody tr'));
      const left = (region, at) => region.querySelector('tbody tr').children[at].getBoundingClientRect().left;
      const movedBy = (region, at) => {
        region.scrollLeft = 0;
        const before = left(region, at);
        region.scrollLeft = 60;
        return before - left(region, at);
      };
      const most = (at) => Math.max(...wide.map((region) => movedBy(region, at)));
      return { tables: wide.length, first: most(0), second: most(1) };
    }`);
    expect(moved.tables).toBeGreaterThan(3);
    expect(moved.first).toBe(0);
    expect(moved.second).toBe(60);
  });

  test('the theme switch overrides the system', async () => {
    await page.goto(url);
    const choose = (theme: string) =>
      page.evaluate(`() => document.getElementById('theme-${theme}').click()`);
    await choose('dark');
    expect(brightness((await look(1280, 'light')).background)).toBeLessThan(128);
    await choose('light');
    expect(brightness((await look(1280, 'dark')).background)).toBeGreaterThan(127);
  });

  test('scrollable tables can be reached with the keyboard and have a label', async () => {
    await page.goto(url);
    const unreachable = await page.evaluate<number>(`() =>
      [...document.querySelectorAll('table')].filter((table) => {
        const region = table.parentElement;
        return region.tabIndex !== 0 || !region.getAttribute('aria-label');
      }).length`);
    expect(unreachable).toBe(0);
  });
});
