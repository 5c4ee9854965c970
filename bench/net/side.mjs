// This side of bench/net.mjs: a process with the servers, and the contenders that connect to it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import * as tcp from 'node:net';
import { fileURLToPath } from 'node:url';
import * as fabric from 'libfabric/net';
import { environmentOf, pin } from '../harness/providers.mjs';

/** The process with the servers. */
export class Servers {
  #child;
  #answers = new Map();
  #next = 0;

  constructor(provider, namespace, nics) {
    const env = environmentOf(provider, { namespace, node: 1, nics });
    const program = fileURLToPath(new URL('server.mjs', import.meta.url));
    this.#child = fork(program, { env, execArgv: ['--expose-gc'] });
    this.#child.on('message', ({ id, answer }) => {
      this.#answers.get(id)(answer);
      this.#answers.delete(id);
    });
    this.repin();
  }

  ask(ask, question = {}) {
    const id = ++this.#next;
    this.#child.send({ id, ask, ...question });
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }

  repin() {
    pin(process.pid, 0);
    pin(this.#child.pid, 1);
  }

  close() {
    this.#child.kill();
  }
}

/** What connects to a server: node:net, or libfabric/net with a driver. */
export class Contender {
  constructor(name, library, options) {
    this.name = name;
    this.library = library;
    this.options = options;
  }

  async listen(servers, kind, more = {}) {
    const { name, options } = this;
    const library = this.library === tcp ? 'node:net' : 'libfabric/net';
    const { port } = await servers.ask('listen', {
      kind,
      library,
      options: { ...options, ...more },
    });
    servers.repin(); // its threads
    return { name, port };
  }

  /** A connected socket. */
  async connect(servers, kind, more = {}, ofSocket = {}) {
    const { port } = await this.listen(servers, kind, more);
    const socket = await this.connectTo(port, ofSocket);
    servers.repin();
    return socket;
  }

  async connectTo(port, ofSocket = {}) {
    const socket = this.library.connect({ port, host: '127.0.0.1', ...this.options, ...ofSocket });
    socket.on('error', () => {}); // at the end, when its server is killed
    await once(socket, 'connect');
    return socket;
  }
}

export const nodeNet = new Contender('node:net', tcp, {});
export const overFabric = (provider, driver) =>
  new Contender(`${provider}, ${driver}`, fabric, { provider, driver, nics: 1 });
