// The tests of Node.js that cannot pass over libfabric/net, by part and reason.
const HANDLE =
  'uses _handle, the object of libuv that a socket of node:net has and one of the fabric has not';
const DESCRIPTOR = 'makes sockets of file descriptors, which sockets of the fabric do not have';
const PRIVATE = 'reads private members of node:net';
const CLUSTER = 'passes a listening handle of libuv to a cluster worker';
const PROTOTYPE = 'reads a getter of the prototype without an object';
const LISTENERS = 'counts the listeners that node:net adds to its own sockets';
const INACTIVE =
  'expects that a connected socket that is not read does not keep the process alive, as an inactive handle of libuv';

// Each of these was run over a plain Duplex too (--provider duplex), and ends in the same way.
const STREAM =
  'needs what node:tls and node:http2 do only over a net.Socket: it ends in the same way over a plain Duplex';
const CONNECTING =
  'needs a session that waits for its socket to connect: over a stream that is not a net.Socket, node:http2 begins at once';
const ADDRESS =
  'reads an address or a port of a TLSSocket or a session, which they take only from the handle of a net.Socket';
const ALERT =
  'expects an alert that node:tls drops over any stream whose answer arrives within the turn of its write, because ' +
  'JSStreamSocket ends writes by setImmediate()';

export const LISTED = {
  net: {
    [HANDLE]: [
      'connect-keepalive.js',
      'connect-nodelay.js',
      'end-close.js',
      'server-keepalive.js',
      'server-nodelay.js',
      'socket-setnodelay.js',
      'socket-write-after-close.js',
    ],
    'counts calls of the handles of libuv': ['persistent-nodelay.js', 'persistent-ref-unref.js'],
    [DESCRIPTOR]: ['connect-options-fd.js', 'socket-constructor.js'],
    [PRIVATE]: ['listen-invalid-port.js', 'normalize-args.js', 'socket-connecting.js'],
    [LISTENERS]: ['socket-no-halfopen-enforcer.js'],
    [CLUSTER]: ['listen-handle-in-cluster-1.js'],
    [PROTOTYPE]: ['access-byteswritten.js'],
    [INACTIVE]: ['connect-paused-connection.js'],
  },
  http: {
    [HANDLE]: ['client-spurious-aborted.js'],
    [PRIVATE]: ['client-timeout-on-connect.js'],
    'calls addRequest() of an agent, which is private, with an object that is not a request': [
      'addrequest-localaddress.js',
    ],
    [LISTENERS]: ['connect.js'],
    'has a server of node:net that serves one connection or ends each, and an agent asks for the fabric first':
      [
        'client-error-rawbytes.js',
        'conn-reset.js',
        'multi-line-headers.js',
        'response-status-message.js',
        'socket-encoding-error.js',
        'upgrade-binary.js',
      ],
    'expects ticks between the head and the body of a request, which node:http has over sockets of libuv only':
      ['pause-no-dump.js'],
    'expects sockets that are instances of net.Socket': ['set-timeout.js'],
    'replaces the parser of node:http before its modules are loaded, and the agent has loaded them':
      ['parser-lazy-loaded.js'],
  },
  http2: {
    [HANDLE]: ['socket-proxy.js'],
    [CONNECTING]: [
      'clean-output.js',
      'client-destroy.js',
      'client-onconnect-errors.js',
      'client-promisify-connect-error.js',
      'client-promisify-connect.js',
      'client-request-options-errors.js',
      'client-setLocalWindowSize.js',
      'client-setNextStreamID-errors.js',
      'client-stream-destroy-before-connect.js',
      'destroy-after-write.js',
      'goaway-delayed-request.js',
      'invalidheaderfield.js',
      'options-max-headers-block-length.js',
      'session-stream-state.js',
      'single-headers.js',
      'stream-removelisteners-after-close.js',
      'unbound-socket-proxy.js',
    ],
    [ADDRESS]: [
      'compat-socket.js',
      'connect-options.js',
      'create-client-secure-session.js',
      'ip-address-host.js',
      'origin.js',
    ],
    [STREAM]: [
      'allow-http1.js',
      'buffersize.js',
      'compat-errors.js',
      'compat-socket-destroy-delayed.js',
      'connect.js',
      'misbehaving-flow-control.js',
      'propagate-session-destroy-code.js',
      'server-errors.js',
      'server-startup.js',
      'session-settings.js',
      'session-unref.js',
      'socket-close.js',
    ],
    [INACTIVE]: [
      'max-settings.js',
      'options-max-headers-exceeds-nghttp2.js',
      'server-shutdown-before-respond.js',
    ],
    'replaces net.connect() of the module that node:http2 has loaded': ['client-port-80.js'],
    'connects to a server of node:http, which gets the offer of the fabric before HTTP/2': [
      'client-http1-server.js',
    ],
  },
  tls: {
    [HANDLE]: ['socket-close.js'],
    [PRIVATE]: ['wrap-timeout.js'],
    [STREAM]: [
      'async-cb-after-socket-end.js',
      'connect-timeout-option.js',
      'onread-static-buffer.js',
      'tlswrap-segfault-2.js',
      'wrap-econnreset-localaddress.js',
      'writewrap-leak.js',
    ],
    [ALERT]: [
      'cli-max-version-1.2.js',
      'cli-max-version-1.3.js',
      'cli-min-version-1.1.js',
      'cli-min-version-1.2.js',
      'cli-min-version-1.3.js',
      'client-auth.js',
      'min-max-version.js',
    ],
    'counts the listeners of a signal, which the replacement also gives to the socket below': [
      'connect-abort-controller.js',
    ],
    'needs a TLS connection that begins before its socket connects, which node:tls does only with net.Socket':
      [
        'net-socket-keepalive.js',
        'net-socket-keepalive-12.js',
        'on-empty-socket.js',
        'wrap-econnreset-socket.js',
      ],
    'makes a TLSSocket without a socket, which opens a connection of TCP itself': [
      'retain-handle-no-abort.js',
      'socket-default-options.js',
    ],
    'expects the error of an option of TLS although no port is given, which the replacement checks first':
      ['client-default-ciphers.js', 'client-mindhsize.js'],
    'replaces members of internal modules before node:tls is loaded': [
      'clientcertengine-unsupported.js',
      'keyengine-unsupported.js',
    ],
    'gives net.connect() options of TLS, which libfabric/net refuses': [
      'inception.js',
      'net-connect-prefer-path.js',
    ],
    'connects a proxy of node:http, or an https.Agent of its own, over TCP, with a server that is replaced':
      ['over-http-tunnel.js', 'set-secure-context.js'],
  },
};

/** The reason of each listed test of a part, by its name. */
export function reasonOf(part) {
  return new Map(
    Object.entries(LISTED[part]).flatMap(([reason, names]) =>
      names.map((name) => [`test-${part}-${name}`, reason]),
    ),
  );
}
