// Gives the process four software EFA devices. Import it before support/softefa.js.
process.env.SOFTEFA_NICS = '4';
