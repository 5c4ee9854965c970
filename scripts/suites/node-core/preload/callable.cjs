/**
 * A class that may be called without new, as the functions of node:net, and whose first argument, its options, may be
 * changed. Objects of the replaced class count as its own: node:tls and node:http2 make some around each socket.
 */
exports.callable = (Class, argumentsOf = (args) => args, Replaced = Class) =>
  new Proxy(Class, {
    get: (target, name, proxy) =>
      name === Symbol.hasInstance
        ? (object) => object instanceof target || object instanceof Replaced
        : Reflect.get(target, name, proxy),
    apply: (target, _this, args) => Reflect.construct(target, argumentsOf(args)),
    construct: (target, args, newTarget) => Reflect.construct(target, argumentsOf(args), newTarget),
  });

/** Adds members to options. Other values are not changed, so that they are refused. */
exports.withMembers = (options, members) => {
  if (options === undefined || options === null) return { ...members };
  return typeof options === 'object' ? { ...members, ...options } : options;
};

/** A module with other members. What a program sets, such as tls.DEFAULT_CIPHERS, is set in the module itself. */
exports.copyOf = (module, members) =>
  new Proxy(module, {
    get: (target, name) => (Object.hasOwn(members, name) ? members[name] : target[name]),
    set: (target, name, value) =>
      Object.hasOwn(members, name)
        ? Reflect.set(members, name, value)
        : Reflect.set(target, name, value),
  });
