import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Returns the path of a browser, or undefined if none is installed. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

type Params = Record<string, unknown>;

interface Answer {
  readonly resolve: (result: Params) => void;
  readonly reject: (error: Error) => void;
}

/** An event that the browser reports. */
export interface BrowserEvent {
  readonly method: string;
  readonly params: Params;
}

/** A page in a headless browser, driven by the DevTools protocol over a pipe. */
export class BrowserPage {
  readonly events: BrowserEvent[] = [];
  readonly #browser: ChildProcess;
  readonly #profile = mkdtempSync(join(tmpdir(), 'libfabric-chromium-'));
  readonly #answers = new Map<number, Answer>();
  readonly #ended: Promise<void>;
  readonly #awaited: { method: string; resolve: () => void }[] = [];
  #session: string | undefined;
  #last = 0;

  private constructor(path: string) {
    const args =
      '--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync ' +
      '--disable-background-networking --disable-component-update --remote-debugging-pipe';
    this.#browser = spawn(path, [...args.split(' '), `--user-data-dir=${this.#profile}`], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    this.#ended = new Promise((resolve) => {
      this.#browser.once('close', () => {
        for (const { reject } of this.#answers.values()) reject(new Error('the browser has ended'));
        resolve();
      });
    });
    let rest = '';
    (this.#browser.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop() ?? '';
      for (const message of messages) this.#receive(JSON.parse(message));
    });
  }

  static async open(path: string): Promise<BrowserPage> {
    const page = new BrowserPage(path);
    const { targetId } = await page.call('Target.createTarget', { url: 'about:blank' });
    const attached = await page.call('Target.attachToTarget', { targetId, flatten: true });
    page.#session = attached.sessionId as string;
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.call(`${domain}.enable`);
    return page;
  }

  call(method: string, params: Params = {}): Promise<Params> {
    const id = ++this.#last;
    const message = { id, method, params, sessionId: this.#session };
    return new Promise((resolve, reject) => {
      this.#answers.set(id, { resolve, reject });
      (this.#browser.stdio[3] as Writable).write(`${JSON.stringify(message)}\0`);
    });
  }

  async goto(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => {
      this.#awaited.push({ method: 'Page.loadEventFired', resolve });
    });
    await this.call('Page.navigate', { url });
    await loaded;
  }

  /** Evaluates a function without arguments in the page. */
  async evaluate<T>(script: string): Promise<T> {
    const expression = `(${script})()`;
    const answer = await this.call('Runtime.evaluate', { expression, returnByValue: true });
    if (answer.exceptionDetails) throw new Error(JSON.stringify(answer.exceptionDetails));
    return (answer.result as { value: T }).value;
  }

  async close(): Promise<void> {
    this.#browser.kill();
    await this.#ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(message: BrowserEvent & { id?: number; result: Params; error?: { message: string } }) {
    if (message.id === undefined) {
      this.events.push(message);
      const at = this.#awaited.findIndex(({ method }) => method === message.method);
      if (at !== -1) this.#awaited.splice(at, 1)[0]?.resolve();
      return;
    }
    const answer = this.#answers.get(message.id);
    this.#answers.delete(message.id);
    if (message.error) answer?.reject(new Error(message.error.message));
    else answer?.resolve(message.result);
  }
}
