// Import before support/softefa.js. The efa provider then accesses the device's queues without rdma-core.
process.env.SOFTEFA_DIRECT = '1';
process.env.FI_EFA_USE_DATA_PATH_DIRECT = '1';
