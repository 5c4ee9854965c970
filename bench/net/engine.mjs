/** The options of a transfer engine beside sockets. */
export const engineOptions = ({ provider, node }) => ({ provider, nics: 1, ...(node && { node }) });
