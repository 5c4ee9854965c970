// To be imported before support/softefa.js: devices whose queues the efa provider fills and reads by itself.
process.env.SOFTEFA_DIRECT = '1';
process.env.FI_EFA_USE_DATA_PATH_DIRECT = '1';
