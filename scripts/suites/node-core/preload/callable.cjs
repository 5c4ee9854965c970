/**
 * A class that may be called without new, as the functions of node:net, and whose first argument, its options, may be
 * changed.
 */
exports.callable = (Class, argumentsOf = (args) => args) =>
  new Proxy(Class, {
    apply: (target, _this, args) => Reflect.construct(target, argumentsOf(args)),
    construct: (target, args, newTarget) => Reflect.construct(target, argumentsOf(args), newTarget),
  });

/** Adds members to options. Other values are not changed, so that they are refused. */
exports.withMembers = (options, members) => {
  if (options === undefined || options === null) return { ...members };
  return typeof options === 'object' ? { ...members, ...options } : options;
};

/** A module with other members. Getters stay getters. */
exports.copyOf = (module, members) =>
  Object.assign(Object.create(null, Object.getOwnPropertyDescriptors(module)), members);
