import { ChannelCredentials } from '@grpc/grpc-js';
import { upgrade } from 'libfabric/net';

/** Credentials whose connections are upgraded to the fabric. grpc-js has no public hook for that: this one is of 1.14. */
export class FabricCredentials extends ChannelCredentials {
  #others;
  #options;

  /**
   * @param {ChannelCredentials} others those that connect over TCP or TLS
   * @param {import('libfabric/net').FabricOptions} options
   */
  constructor(others, options) {
    super();
    this.#others = others;
    this.#options = options;
  }

  _isSecure() {
    return this.#others._isSecure();
  }

  _equals(other) {
    return other === this;
  }

  _createSecureConnector(...args) {
    const connector = this.#others._createSecureConnector(...args);
    return {
      connect: async (raw) => {
        const { socket, secure } = await connector.connect(raw);
        return { socket: await upgrade(socket, this.#options), secure };
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}
