// The errors that each kind of calls may return: those of its manual page (ERRORS), and those of the kernel.
const LIBFABRIC = {
  query: ['FI_ENODATA', 'FI_ENOMEM', 'FI_EINVAL'],
  open: ['FI_ENOMEM', 'FI_EINVAL', 'FI_EMFILE', 'FI_ENODEV', 'FI_ENOSYS'],
  bind: ['FI_EINVAL', 'FI_ENOMEM', 'FI_ENOSYS'],
  enable: ['FI_ENOMEM', 'FI_EADDRINUSE', 'FI_EOPBADSTATE'],
  option: ['FI_ENOPROTOOPT', 'FI_EINVAL', 'FI_EOPNOTSUPP'],
  insert: ['FI_ENOMEM', 'FI_EINVAL', 'FI_EADDRNOTAVAIL'],
  register: ['FI_ENOMEM', 'FI_EINVAL', 'FI_EACCES', 'FI_EFAULT', 'FI_EOPNOTSUPP'],
  post: ['FI_EAGAIN', 'FI_ENOMEM', 'FI_EIO', 'FI_EINVAL', 'FI_EHOSTUNREACH', 'FI_EOPNOTSUPP'],
  read: ['FI_EAGAIN', 'FI_EIO', 'FI_EAVAIL', 'FI_EINTR'],
  wait: ['FI_EAGAIN', 'FI_EBUSY', 'FI_ENOSYS'],
  cancel: ['FI_ENOENT', 'FI_EOPNOTSUPP'],
  close: ['FI_EBUSY', 'FI_EIO'],
};

/** Any call of verbs may give the errors of the kernel and of its device. */
export const VERBS_ERRORS = ['FI_ENOMEM', 'FI_EAGAIN', 'FI_EIO', 'FI_EINVAL'];

/** The kinds are those of softefa's faults. */
const VERBS = {
  query: VERBS_ERRORS,
  creation: VERBS_ERRORS,
  modify: VERBS_ERRORS,
  registration: VERBS_ERRORS,
  addressHandle: VERBS_ERRORS,
  post: VERBS_ERRORS,
  receive: VERBS_ERRORS,
  poll: VERBS_ERRORS,
};

export const ERRORS = { libfabric: LIBFABRIC, verbs: VERBS };
