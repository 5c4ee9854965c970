// node:tls and node:http2 over replaced sockets: what listens is a server of libfabric/net, whose sockets node:tls and
// node:http2 get by the event 'connection'; and clients get a socket of libfabric/net as the option socket of tls.connect(),
// or by the option createConnection of http2.connect(). docs/net.md recommends these lines. A TLSSocket takes allowHalfOpen
// from its socket. When it has, the socket gets it, because TLS sends a message after the end of the peer.
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');
const tls = require('node:tls');
const { copyOf } = require('./callable.cjs');

/** Lets a server of Node.js listen by one of the replaced module. */
function listening(server, net, options) {
  const { allowHalfOpen = false, pauseOnConnect = false } = Object(options);
  const front = net.createServer({ allowHalfOpen, pauseOnConnect }, (socket) => {
    socket.server = server;
    server.emit('connection', socket);
    socket.allowHalfOpen = true;
  });
  for (const event of ['listening', 'error', 'close', 'drop'])
    front.on(event, (...args) => server.emit(event, ...args));
  const own = {};
  for (const name of ['listen', 'close', 'ref', 'unref', 'getConnections'])
    own[name] = (...args) => {
      front[name](...args);
      return server;
    };
  own.address = () => front.address();
  Object.assign(server, own);
  Object.defineProperties(server, {
    listening: { get: () => front.listening },
    maxConnections: {
      get: () => front.maxConnections,
      set: (count) => {
        front.maxConnections = count;
      },
    },
  });
  server[Symbol.asyncDispose] = () => front[Symbol.asyncDispose]();
  return server;
}

/** A class or function whose servers listen so. */
const serversOf = (Server, net) =>
  new Proxy(Server, {
    apply: (target, _this, args) => listening(new target(...args), net, args[0]),
    construct: (target, args, newTarget) =>
      listening(Reflect.construct(target, args, newTarget), net, args[0]),
  });

const serverFunction =
  (create, net, own) =>
  (...args) =>
    listening(create(...args), net, { ...Object(args[0]), ...own });

/** The options and the listener in the arguments of tls.connect(). */
function tlsArguments(args) {
  const listener = args.find((each) => typeof each === 'function');
  const objects = args.filter((each) => typeof each === 'object' && each !== null);
  const [first, second] = args;
  const place = typeof first === 'object' ? {} : { port: first };
  if (typeof first === 'string' && !(Number(first) >= 0))
    return [Object.assign({ path: first }, ...objects), listener];
  if (typeof second === 'string') place.host = second;
  return [Object.assign(place, ...objects), listener];
}

const ADDRESS = ['host', 'port', 'path', 'lookup', 'family', 'hints', 'localAddress', 'localPort'];
const SOCKET = ['signal', 'timeout', 'autoSelectFamily', 'autoSelectFamilyAttemptTimeout'];

function tlsOver(net) {
  const connect = (...args) => {
    const [options, listener] = tlsArguments(args);
    if (options.socket) return tls.connect(options, listener);
    const wanted = [...ADDRESS, ...SOCKET].filter((name) => options[name] !== undefined);
    const place = Object.fromEntries(wanted.map((name) => [name, options[name]]));
    const secureContext = options.secureContext ?? tls.createSecureContext(options);
    const { allowHalfOpen = false } = options;
    const socket = net.connect({ ...place, allowHalfOpen });
    try {
      const secure = tls.connect({ ...options, secureContext, socket }, listener);
      socket.allowHalfOpen = true;
      return secure;
    } catch (error) {
      socket.on('error', () => {}).destroy();
      throw error;
    }
  };
  const createServer = serverFunction(tls.createServer, net);
  return copyOf(tls, { connect, createServer, Server: serversOf(tls.Server, net) });
}

function http2Over(net, tlsModule) {
  const connect = (authority, options, listener) => {
    if (typeof options === 'function') return connect(authority, undefined, options);
    if (options?.createConnection) return http2.connect(authority, options, listener);
    const createConnection = (url, wanted) => {
      const host = url.hostname?.replace(/^\[(.*)\]$/, '$1') || url.host || 'localhost';
      const isSecure = (url.protocol ?? wanted.protocol) !== 'http:';
      const port = url.port || (isSecure ? 443 : 80);
      if (!isSecure) return net.connect({ host, port, allowHalfOpen: true });
      const servername = net.isIP(host) ? {} : { servername: host };
      const alpn = { ALPNProtocols: ['h2'], allowHalfOpen: true };
      return tlsModule.connect({ ...servername, ...alpn, ...wanted, host, port });
    };
    return http2.connect(authority, { ...options, createConnection }, listener);
  };
  const createServer = serverFunction(http2.createServer, net, { allowHalfOpen: true });
  const createSecureServer = serverFunction(http2.createSecureServer, net, { allowHalfOpen: true });
  return copyOf(http2, { connect, createServer, createSecureServer });
}

function httpsOver(net, tlsModule) {
  https.globalAgent.createConnection = (options) => tlsModule.connect(options);
  const createServer = serverFunction(https.createServer, net);
  return copyOf(https, { createServer, Server: serversOf(https.Server, net) });
}

exports.over = (net, part) => {
  const replaced = { tls: tlsOver(net) };
  replaced.https = httpsOver(net, replaced.tls);
  if (part === 'tls') return replaced;
  // For servers of HTTP/2 that also speak HTTP/1.
  http.globalAgent.createConnection = (options) =>
    net.connect({ host: options.host, port: options.port, allowHalfOpen: true });
  return { ...replaced, http2: http2Over(net, replaced.tls) };
};
