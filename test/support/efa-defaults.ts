// Import before support/softefa.js. The efa provider then keeps its default: shared memory within a host.
process.env.FI_EFA_ENABLE_SHM_TRANSFER = '1';
