// node:net with sockets that are plain streams over those of node:net. What fails over them as well fails over each stream
// that has no handle of libuv.
const net = require('node:net');
const { Duplex } = require('node:stream');

class Stream extends Duplex {
  #socket;

  constructor(socket, { allowHalfOpen = false } = {}) {
    super({ allowHalfOpen, emitClose: false });
    this.#socket = socket;
    socket.on('data', (bytes) => this.push(bytes) || socket.pause()).pause();
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    for (const event of ['connect', 'ready', 'timeout', 'lookup'])
      socket.on(event, (...args) => this.emit(event, ...args));
    for (const name of ['setTimeout', 'setNoDelay', 'setKeepAlive', 'ref', 'unref'])
      this[name] = (...args) => {
        socket[name](...args);
        return this;
      };
    for (const name of ['remoteAddress', 'remotePort', 'localAddress', 'localPort', 'connecting'])
      Object.defineProperty(this, name, { get: () => socket[name] });
  }

  address() {
    return this.#socket.address();
  }

  destroySoon() {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', this.destroy);
  }

  _read() {
    this.#socket.resume();
  }

  _write(bytes, encoding, done) {
    this.#socket.write(bytes, encoding, done);
  }

  _final(done) {
    this.#socket.end(done);
  }

  _destroy(error, done) {
    this.#socket.destroy();
    done(error);
    process.nextTick(() => this.emit('close', error !== null));
  }
}

const whole = (options) => ({ ...options, allowHalfOpen: true });

exports.connect = (options) => new Stream(net.connect(whole(options)), options);
exports.createServer = (options, listener) =>
  net.createServer(whole(options), (socket) => listener(new Stream(socket, options)));
