// The tests of Node.js that cannot pass over libfabric/net, by part and reason.
const HANDLE =
  'uses _handle, the object of libuv that a socket of node:net has and one of the fabric has not';
const DESCRIPTOR = 'makes sockets of file descriptors, which sockets of the fabric do not have';
const PRIVATE = 'reads private members of node:net';
const CLUSTER = 'passes a listening handle of libuv to a cluster worker';
const PROTOTYPE = 'reads a getter of the prototype without an object';
const INACTIVE =
  'expects that a connected socket that is not read does not keep the process alive, as an inactive handle of libuv';

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
    'counts the listeners that node:net adds to its own sockets': [
      'socket-no-halfopen-enforcer.js',
    ],
    [CLUSTER]: ['listen-handle-in-cluster-1.js'],
    [PROTOTYPE]: ['access-byteswritten.js'],
    [INACTIVE]: ['connect-paused-connection.js'],
  },
  http: {},
  http2: {},
  tls: {},
};

/** The reason of each listed test of a part, by its name. */
export function reasonOf(part) {
  return new Map(
    Object.entries(LISTED[part]).flatMap(([reason, names]) =>
      names.map((name) => [`test-${part}-${name}`, reason]),
    ),
  );
}
