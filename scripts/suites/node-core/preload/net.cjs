// node:net with the sockets and servers of libfabric/net, and node:tls and node:http2 over them.
const net = require('node:net');
const { FabricServer, FabricSocket } = require('../../../../dist/net/index.js');
const { callable, withMembers } = require('./callable.cjs');

/** The options and the listener in the arguments of connect(). */
function connectArguments([first, second, third]) {
  const listener = [first, second, third].find((each) => typeof each === 'function');
  if (typeof first === 'object' && first !== null) return [first, listener];
  if (typeof first === 'string' && !(Number(first) >= 0)) return [{ path: first }, listener];
  const host = typeof second === 'function' ? undefined : second;
  return [{ port: first, ...(host !== undefined && { host }) }, listener];
}

function netOver(fabric) {
  const argumentsOf = ([options, ...others]) => [withMembers(options, fabric), ...others];
  const Socket = callable(FabricSocket, argumentsOf, net.Socket);
  const Server = callable(FabricServer, ([first, second]) =>
    typeof first === 'function' ? [{ ...fabric }, first] : [withMembers(first, fabric), second],
  );
  const connect = (...args) => {
    const [options, listener] = connectArguments(args);
    const socket = new Socket(options);
    if (options.timeout) socket.setTimeout(options.timeout);
    return listener ? socket.connect(options, listener) : socket.connect(options);
  };
  const createServer = (...args) => new Server(...args);
  const sockets = { Socket, Stream: Socket, connect, createConnection: connect };
  return { ...net, ...sockets, Server, createServer };
}

/** The modules that replace those of Node.js. */
exports.modulesOf = (part, fabric) => {
  if (fabric.provider === 'duplex')
    return require('./tls.cjs').over({ ...net, ...require('./duplex.cjs') }, part);
  const replaced = netOver(fabric);
  if (part === 'net') return { net: replaced };
  return { net: replaced, ...require('./tls.cjs').over(replaced, part) };
};
