// To be imported before support/softefa.js: the efa provider as it is by itself, through shared memory
// within a host.
process.env.FI_EFA_ENABLE_SHM_TRANSFER = '1';
