// Endpoints with the providers' default queues touch 66 MB (tcp) and 85 MB (efa) when they open, which takes most of the
// time of a test. With these they touch 17 and 21 MB. Tests of queues' sizes import default-queues.ts first.
// LIBFABRIC_TEST_QUEUES=default keeps the defaults everywhere.
export const SMALL_QUEUES = {
  FI_EFA_TX_SIZE: '64',
  FI_EFA_RX_SIZE: '64',
  FI_OFI_RXM_MSG_TX_SIZE: '64',
  FI_OFI_RXM_MSG_RX_SIZE: '64',
};

if (process.env.LIBFABRIC_TEST_QUEUES !== 'default') {
  for (const [name, size] of Object.entries(SMALL_QUEUES)) process.env[name] ??= size;
}
