// A service of one method, without a .proto file: its messages are JSON.
const json = {
  requestSerialize: (message) => Buffer.from(JSON.stringify(message)),
  requestDeserialize: (bytes) => JSON.parse(bytes.toString()),
  responseSerialize: (message) => Buffer.from(JSON.stringify(message)),
  responseDeserialize: (bytes) => JSON.parse(bytes.toString()),
};

export const definition = {
  reverse: { path: '/text.Text/Reverse', requestStream: false, responseStream: false, ...json },
};
