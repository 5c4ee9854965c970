// node:http with attach() at each server, and FabricAgent in place of each agent.
const http = require('node:http');
const { attach, FabricAgent } = require('../../../../dist/net/index.js');
const { callable, copyOf, withMembers } = require('./callable.cjs');

module.exports = (fabric) => {
  const Server = new Proxy(http.Server, {
    apply: (target, self, args) => {
      if (!(self instanceof target)) return attached(new target(...args));
      Reflect.apply(target, self, args); // of a class that inherits from it
      return attached(self);
    },
    construct: (target, args, newTarget) => attached(Reflect.construct(target, args, newTarget)),
  });
  const attached = (server) => {
    attach(server, fabric);
    return server;
  };
  const Agent = callable(FabricAgent, ([options, ...others]) => [
    withMembers(options, fabric),
    ...others,
  ]);
  http.globalAgent = new FabricAgent({
    keepAlive: true,
    scheduling: 'lifo',
    timeout: 5000,
    ...fabric,
  });
  http.globalAgent.protocol = 'http:'; // node:http compares it with the protocol of each request
  const createServer = (...args) => new Server(...args);
  return { http: copyOf(http, { Server, Agent, createServer }) };
};
