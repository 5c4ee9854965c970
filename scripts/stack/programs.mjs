// The programs of fabtests that run on the software device, and their arguments. A build has only some of them: 1.17
// has names that 2 dropped, and 2 has more programs for efa. Like AWS's own suite, this list omits programs that use
// poll sets (fi_poll) or addresses that efa does not have (fi_multinode, fi_ubertest, fi_mcast), and fi_rdm_stress, which
// needs a script of its own.

// Each command line combined with each option.
const each = (lines, options) => lines.flatMap((line) => options.map((more) => `${line} ${more}`));

const UNIT = [
  'fi_cntr_test',
  'fi_cq_test',
  'fi_dom_test -n 2',
  'fi_eq_test',
  'fi_getinfo_test',
  'fi_mr_test',
  'fi_setopt_test',
  'fi_efa_info_test',
];

// Sizes that fit into a packet of the device, because efa-direct does not split messages.
const SHORT = '-S r:1,1024,8192';

/**
 * Groups of command lines.
 * - alone: one process; otherwise a server and a client.
 * - fabric: efa by default.
 * - required: whether each line must pass. Other lines are skipped if the provider refuses them. The quick run has
 *   only the required lines.
 * - leaves: one side closes while the other sends, which may end in an internal error of the provider.
 * - variables: more environment variables for the programs.
 * - since: the oldest release that has the programs.
 * - nodes: the minimum number of nodes; 1 by default.
 * - once: runs only on one node with one device, because the provider refuses it on all of them.
 */
export const GROUPS = [
  { alone: true, required: true, lines: UNIT },
  { alone: true, required: true, fabric: 'efa-direct', lines: UNIT },
  {
    alone: true,
    lines: [
      'fi_mr_cache_evict',
      'fi_efa_mmap_test',
      'fi_efa_rdma_checker -o read',
      'fi_efa_rdma_checker -o write',
      'fi_efa_rdma_checker -o writedata',
    ],
  },
  { alone: true, since: 2, lines: ['sighandler_test -p efa'] }, // it fails on 1.17 with every provider
  {
    required: true, // by default the sizes are 64 to 1 MiB, which covers all protocols of the provider
    lines: [
      'fi_rdm_pingpong -v -I 20',
      'fi_rdm_pingpong -v -I 20 -U',
      'fi_rdm_tagged_pingpong -v -I 20',
      'fi_rdm_tagged_bw -v -I 200',
      'fi_rma_bw -e rdm -v -I 20 -o write',
      'fi_rma_bw -e rdm -v -I 20 -o read',
      'fi_rma_bw -e rdm -v -I 20 -o writedata',
      'fi_rdm_atomic -I 20 -o all',
      'fi_dgram_pingpong -v -k -I 20 -S 4096',
      'fi_av_xfer -e rdm',
    ],
  },
  {
    required: true,
    fabric: 'efa-direct',
    lines: [
      `fi_rdm_pingpong -v -I 20 ${SHORT}`,
      `fi_rma_bw -e rdm -v -I 20 -o write ${SHORT}`,
      'fi_rma_bw -e rdm -v -I 20 -o write -S 1048576',
      'fi_rma_bw -e rdm -v -I 20 -o read -S 1048576',
      'fi_rma_bw -e rdm -v -I 20 -o writedata -S 1048576',
    ],
  },
  {
    lines: [
      'fi_rdm',
      'fi_rdm_pingpong -I 20 -t counter',
      'fi_rdm_pingpong -I 20 -M mr_local',
      'fi_rdm_pingpong -I 20 -j 0',
      'fi_rdm_pingpong -I 20 -K',
      ...each(['fi_rdm_pingpong -I 20 -S 8192'], ['-c sread', '-c fd']),
      'fi_rdm_cntr_pingpong -I 20',
      'fi_rdm_tagged_pingpong -v -I 20 -U',
      'fi_rdm_tagged_bw -v -I 200 -U',
      'fi_rdm_tagged_peek',
      ...each(['fi_rma_bw -e rdm -v -I 20 -U'], ['-o write', '-o read', '-o writedata']),
      'fi_rma_pingpong -e rdm -v -I 20 -o writedata',
      'fi_rdm_atomic -I 20 -o all -U',
      'fi_rdm_bw -v -I 200',
      'fi_rdm_bw_mt -n 4 -I 200 -S 4096',
      ...each(['fi_bw -e rdm -v -T 1'], ['-S 4096', '-S 4096 -U']),
      'fi_flood -e rdm -v -T 1 -S 4096',
      'fi_flood -e rdm -W 6400 -S 512 -T 5',
      ...each(['fi_inject_test', 'fi_msg_inject -v'], ['-A inject', '-N -A inject']),
      'fi_cq_data -e rdm',
      ...each(['fi_multi_ep -e rdm'], ['-v', '-Q', '-A']),
      'fi_multi_recv -e rdm -I 20',
      'fi_unexpected_msg -e rdm -I 10',
      ...each(['fi_rdm_multi_client -C 10 -I 5'], ['-S 4096', '-S 4096 -U']),
      'fi_recv_cancel -e rdm -V',
      'fi_unmap_mem -I 20',
      'fi_resmgmt_test',
      ...each(
        ['fi_efa_rdm_remote_exit_early -S 1048576'],
        ['-o tagged', '-o writedata', '--post-rx'],
      ),
      'fi_efa_runt_read_no_handshake -I 1 -w 0 -S 1048576',
      'fi_efa_exhaust_mr_reg_rdm_pingpong -I 20',
      ...each(['fi_efa_implicit_av_test -c 5 -S 16'], ['-L', '-L -X']),
    ],
  },
  {
    // These programs close endpoints while their peers send. The shm provider below efa does not survive that: on 2.6
    // smr_map_to_endpoint ends in a segmentation fault. AWS's suite runs them without it, too, and calls them unstable.
    leaves: true,
    variables: { FI_EFA_ENABLE_SHM_TRANSFER: '0' },
    lines: [
      ...each(['fi_efa_multi_ep_mt -e rdm -c 20 -I 100 -S 16384'], ['-T 60', '-T 60 -A']),
      ...each(['fi_efa_multi_ep_stress'], ['--op-type tagged', '--op-type writedata']),
      'fi_efa_multi_ep_stress --sender-workers 8 --receiver-workers 2 --shared-av --shared-cq',
    ],
  },
  {
    fabric: 'efa-direct',
    lines: [
      `fi_rdm_pingpong -v -I 20 -U ${SHORT}`,
      `fi_rdm_pingpong -I 20 -t counter ${SHORT}`,
      'fi_rdm_pingpong -I 20 -c sread -S 8192',
      'fi_rdm_cntr_pingpong -I 20 -S 8192',
      `fi_rma_pingpong -e rdm -v -I 20 -o writedata ${SHORT}`,
      `fi_rdm_bw -v -I 200 ${SHORT}`,
      'fi_rdm_bw_mt -n 4 -I 200 -S 4096',
      'fi_efa_rma_bw -e rdm --high-pps -I 200 -S 4096',
      'fi_flood -e rdm -W 6400 -S 512 -T 5',
      'fi_cq_data -e rdm',
      ...each(['fi_multi_ep -e rdm'], ['-Q', '-A']),
    ],
  },
  { nodes: 2, lines: ['fi_efa_rnr_read_cq_error'] },
  { nodes: 2, fabric: 'efa-direct', lines: ['fi_efa_rnr_read_cq_error'] },
  {
    nodes: 2, // receivers that are not ready: every packet of the provider
    lines: [
      ...each(['-c 0'], ['-S 1048576', '-U -S 4', '-o read -S 4', '-A read -S 4']),
      ...each(['-c 1', '-c 1 -T', '-c 1 -U', '-c 1 -T -U'], ['-S 4', '-S 16384', '-S 1048576']),
      ...each(['-c 1 -o write', '-c 1 -o write -U', '-c 1 -o read'], ['-S 4', '-S 1048576']),
      ...each(['-c 1 -S 4'], ['-A write', '-A write -U', '-A read', '-A cswap']),
    ].map((options) => `fi_efa_rnr_queue_resend ${options}`),
  },
  {
    alone: true,
    once: true,
    lines: [
      'check_hmem -p efa',
      'fi_check_hmem -p efa',
      'fi_loopback',
      'fi_av_test -g 127.0.0.1 -n 1',
    ],
  },
  {
    once: true,
    lines: [
      'fi_cm_data',
      'fi_cq_data -e msg',
      'fi_dgram',
      'fi_dgram_waitset',
      'fi_msg',
      'fi_msg_bw',
      'fi_msg_epoll',
      'fi_msg_pingpong',
      'fi_msg_sockets -s 127.0.0.1',
      'fi_multi_mr -e rdm',
      'fi_rdm_deferred_wq',
      'fi_rdm_multi_domain',
      'fi_rdm_rma_event',
      'fi_rdm_rma_trigger',
      'fi_rdm_shared_av',
      'fi_scalable_ep',
      'fi_shared_ctx',
      'fi_stream_msg',
    ],
  },
];
