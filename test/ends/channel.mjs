// Named messages between the coordinator and a side. A side may be a worker of its process.

/** One end of the connection. Keeps messages until a call waits for them. */
export class Channel {
  #post;
  #kept = [];
  #waiting = [];

  /** @param {(message: object) => void} post */
  constructor(post) {
    this.#post = post;
  }

  send(name, value) {
    this.#post({ name, value });
  }

  /** The value of the next message with one of these names. */
  next(...names) {
    const at = this.#kept.findIndex(({ name }) => names.includes(name));
    if (at >= 0) return Promise.resolve(this.#kept.splice(at, 1)[0].value);
    return new Promise((resolve) => {
      this.#waiting.push({ names, resolve });
    });
  }

  /** Accepts a message that has arrived. */
  receive(message) {
    const at = this.#waiting.findIndex(({ names }) => names.includes(message.name));
    if (at < 0) this.#kept.push(message);
    else this.#waiting.splice(at, 1)[0].resolve(message.value);
  }
}
