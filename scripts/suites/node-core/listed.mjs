// The tests of Node.js that cannot pass over libfabric/net, by part and reason.
export const LISTED = {
  net: {},
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
