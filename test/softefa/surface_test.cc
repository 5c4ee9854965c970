#include <errno.h>
#include <fcntl.h>

#include <cstring>

#include "verbs.h"

// The functions of libibverbs that libfabric does not call: they work as for an EFA, or fail as
// with a provider that does not support them. test/softefa/softefa-surface.test.ts checks that a
// test calls every function that softefa replaces.

using namespace verbs;

extern "C" {
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned index, int* type);
ibv_context* verbs_open_device(ibv_device* device, void* data);
}
// The headers of the build may lack this function.
extern "C" int queryPortSpeed(ibv_context*, uint32_t, uint64_t*) asm("ibv_query_port_speed");
extern "C" void* allocDmah(ibv_context*, void*) asm("ibv_alloc_dmah");
extern "C" int deallocDmah(void*) asm("ibv_dealloc_dmah");
extern "C" int exportDm(ibv_dm*) asm("ibv_dm_export_dmabuf_fd");
extern "C" int queryMr(ibv_mr*, void*, uint32_t) asm("efadv_query_mr");
extern "C" int maxSqDepth(ibv_context*, void*, uint32_t) asm("efadv_get_max_sq_depth");
extern "C" int maxRqDepth(ibv_context*, void*, uint32_t) asm("efadv_get_max_rq_depth");

extern "C" int counterCaps(ibv_context*, void*, size_t) asm("_ibv_query_comp_cntr_caps");
extern "C" void* createCounter(ibv_context*, void*) asm("ibv_create_comp_cntr");
extern "C" void* createEfaCounter(ibv_context*, void*, void*,
                                  uint32_t) asm("efadv_create_comp_cntr");
extern "C" int attachCounter(ibv_qp*, void*, void*) asm("ibv_qp_attach_comp_cntr");
extern "C" int destroyCounter(void*) asm("ibv_destroy_comp_cntr");
extern "C" int setCounter(void*, uint64_t) asm("ibv_set_comp_cntr");
extern "C" int setErrorCounter(void*, uint64_t) asm("ibv_set_err_comp_cntr");
extern "C" int addToCounter(void*, uint64_t) asm("ibv_inc_comp_cntr");
extern "C" int addToErrorCounter(void*, uint64_t) asm("ibv_inc_err_comp_cntr");
extern "C" int readCounter(void*, uint64_t*) asm("ibv_read_comp_cntr");
extern "C" int readErrorCounter(void*, uint64_t*) asm("ibv_read_err_comp_cntr");
extern "C" int queryCq(ibv_cq*, void*, uint32_t) asm("efadv_query_cq");
extern "C" int queryQpWqs(ibv_qp*, void*, void*, uint32_t) asm("efadv_query_qp_wqs");

namespace {

template <class T>
void refused(T* pointer) {
  CHECK(pointer == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
  errno = 0;
}

}  // namespace

TEST(surface_gids) {
  Device device;
  ibv_context* context = device.context();
  const ibv_gid gid = device.gid();
  int type = -1;
  CHECK_EQ(ibv_query_gid_type(context, 1, 0, &type), 0);
  CHECK_EQ(type, 0);
  CHECK_EQ(ibv_query_gid_type(context, 1, 1, &type), -1);
  CHECK_EQ(errno, EINVAL);
  ibv_gid_entry entries[2];
  std::memset(entries, 0xff, sizeof(entries));
  CHECK_EQ(ibv_query_gid_ex(context, 1, 0, entries, 0), 0);
  CHECK(std::memcmp(&entries[0].gid, &gid, sizeof(gid)) == 0);
  CHECK_EQ(entries[0].port_num, 1u);
  CHECK_EQ(entries[0].gid_index, 0u);
  CHECK_EQ(entries[0].gid_type, uint32_t{IBV_GID_TYPE_IB});
  CHECK_EQ(entries[1].port_num, ~0u);
  CHECK_EQ(ibv_query_gid_ex(context, 2, 0, entries, 0), EINVAL);
  CHECK_EQ(ibv_query_gid_ex(context, 1, 0, entries, 1), EOPNOTSUPP);
  std::memset(entries, 0xff, sizeof(entries));
  CHECK_EQ(ibv_query_gid_table(context, entries, 2, 0), 1);
  CHECK(std::memcmp(&entries[0].gid, &gid, sizeof(gid)) == 0);
  CHECK_EQ(entries[1].port_num, ~0u);
  CHECK_EQ(ibv_query_gid_table(context, entries, 0, 0), -EINVAL);
  CHECK_EQ(ibv_query_gid_table(context, entries, 2, 1), -EOPNOTSUPP);
}

TEST(surface_keys_and_numbers) {
  Device device;
  ibv_context* context = device.context();
  __be16 pkey = 0;
  CHECK_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
  CHECK_EQ(pkey, 0xffff);
  CHECK_EQ(ibv_query_pkey(context, 1, 1, &pkey), -1);
  CHECK_EQ(ibv_get_pkey_index(context, 1, pkey), 0);
  CHECK_EQ(ibv_get_pkey_index(context, 1, 7), -1);
  CHECK_EQ(ibv_get_pkey_index(context, 2, pkey), -1);
  CHECK_EQ(ibv_get_device_index(context->device), 0);
  CHECK(std::string(ibv_get_device_name(context->device)) == "softefa_0");
  CHECK_EQ(ibv_get_device_guid(context->device), device.gid().global.interface_id);
  uint64_t speed = 0;
  CHECK_EQ(queryPortSpeed(context, 1, &speed), 0);
  CHECK_EQ(speed, 1000u);
  CHECK_EQ(queryPortSpeed(context, 2, &speed), EINVAL);
  ibv_device_attr_ex attributes;
  CHECK_EQ(ibv_query_device_ex(context, nullptr, &attributes), 0);
  CHECK_EQ(attributes.phys_port_cnt_ex, 1u);
  CHECK_EQ(attributes.orig_attr.max_pkeys, 1);
}

TEST(surface_depths_of_queues) {
  Device device;
  ibv_context* context = device.context();
  struct {
    uint64_t comp_mask = 0;
    uint32_t flags = 0, max_send_sge = 2, max_rdma_sge = 1, max_inline_data = 32;
  } sends;
  CHECK_EQ(maxSqDepth(context, &sends, sizeof(sends)), 4096);
  CHECK_EQ(maxSqDepth(context, &sends, 8), -EINVAL);
  sends.max_inline_data = 81;
  CHECK_EQ(maxSqDepth(context, &sends, sizeof(sends)), -EINVAL);
  struct {
    uint64_t comp_mask = 0;
    uint32_t max_recv_sge = 1, reserved = 0;
  } receives;
  CHECK_EQ(maxRqDepth(context, &receives, sizeof(receives)), 32768);
  receives.max_recv_sge = 3;
  CHECK_EQ(maxRqDepth(context, &receives, sizeof(receives)), 10922);
  receives.max_recv_sge = 4;
  CHECK_EQ(maxRqDepth(context, &receives, sizeof(receives)), -EINVAL);
}

TEST(surface_opens_as_providers_do) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  CHECK_EQ(count, 1);
  ibv_context* context = verbs_open_device(list[0], nullptr);
  CHECK(context != nullptr);
  CHECK_EQ(ibv_close_device(context), 0);
  ibv_free_device_list(list);
}

TEST(surface_asynchronous_events) {
  Device device;
  const int fd = device.context()->async_fd;
  CHECK_EQ(::fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  ibv_async_event event{};
  CHECK_EQ(ibv_get_async_event(device.context(), &event), -1);
  CHECK_EQ(errno, EAGAIN);
  ibv_ack_async_event(&event);
}

TEST(surface_address_of_a_completion) {
  Device device;
  ibv_wc completion{};
  completion.slid = 3;
  ibv_grh header{};
  ibv_ah_attr attributes;
  CHECK_EQ(ibv_init_ah_from_wc(device.context(), 1, &completion, nullptr, &attributes), 0);
  CHECK_EQ(attributes.dlid, 3);
  CHECK_EQ(attributes.is_global, 0);
  // An EFA needs a GID to reach a peer.
  CHECK(ibv_create_ah_from_wc(device.pd(), &completion, nullptr, 1) == nullptr);
  CHECK_EQ(errno, EINVAL);
  completion.wc_flags = IBV_WC_GRH;
  header.version_tclass_flow = htobe32(6u << 28);
  header.next_hdr = 0x1b;
  header.sgid = device.gid();
  header.sgid.raw[15] ^= 1;
  CHECK(ibv_create_ah_from_wc(device.pd(), &completion, &header, 1) == nullptr);
  CHECK_EQ(errno, EINVAL);  // it was for another endpoint
  header.dgid = device.gid();
  ibv_ah* handle = ibv_create_ah_from_wc(device.pd(), &completion, &header, 1);
  CHECK(handle != nullptr);
  CHECK_EQ(ibv_destroy_ah(handle), 0);
  header.next_hdr = 17;
  CHECK_EQ(ibv_init_ah_from_wc(device.context(), 1, &completion, &header, &attributes), -1);
  CHECK_EQ(errno, EPROTONOSUPPORT);
  uint8_t mac[6];
  attributes.port_num = 1;
  attributes.grh.sgid_index = 0;
  CHECK_EQ(ibv_resolve_eth_l2_from_gid(device.context(), &attributes, mac, nullptr), -EINVAL);
  attributes.grh.sgid_index = 4;
  CHECK_EQ(ibv_resolve_eth_l2_from_gid(device.context(), &attributes, mac, nullptr), -1);
}

TEST(surface_refuses_shared_receive_queues) {
  Device device;
  ibv_srq_init_attr init{};
  refused(ibv_create_srq(device.pd(), &init));
  ibv_srq_init_attr_ex extended{};
  extended.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  extended.srq_type = IBV_SRQT_XRC;
  refused(ibv_create_srq_ex(device.context(), &extended));
  ibv_srq srq{};
  srq.context = device.context();
  ibv_srq_attr attributes{};
  CHECK_EQ(ibv_modify_srq(&srq, &attributes, 0), EOPNOTSUPP);
  CHECK_EQ(ibv_query_srq(&srq, &attributes), EOPNOTSUPP);
  CHECK_EQ(ibv_destroy_srq(&srq), EOPNOTSUPP);
  CHECK_EQ(ibv_post_srq_recv(&srq, nullptr, nullptr), EOPNOTSUPP);
}

TEST(surface_refuses_unsupported_features_of_queue_pairs) {
  Device device;
  const Endpoint endpoint(device);
  ibv_qp* qp = endpoint.qp();
  const ibv_gid gid = device.gid();
  CHECK_EQ(ibv_attach_mcast(qp, &gid, 0), EOPNOTSUPP);
  CHECK_EQ(ibv_detach_mcast(qp, &gid, 0), EOPNOTSUPP);
  ibv_ece ece{};
  CHECK_EQ(ibv_query_ece(qp, &ece), EOPNOTSUPP);
  CHECK_EQ(ibv_set_ece(qp, &ece), EOPNOTSUPP);
  ece.vendor_id = 0x1d0f;
  CHECK_EQ(ibv_set_ece(qp, &ece), EOPNOTSUPP);
  CHECK_EQ(ibv_resize_cq(qp->send_cq, 512), EOPNOTSUPP);
  ibv_modify_cq_attr moderation{};
  CHECK_EQ(ibv_modify_cq(qp->send_cq, &moderation), EOPNOTSUPP);
  ibv_flow_attr flow{};
  refused(ibv_create_flow(qp, &flow));
  ibv_qp_rate_limit_attr limit{};
  CHECK_EQ(ibv_modify_qp_rate_limit(qp, &limit), EOPNOTSUPP);
  CHECK_EQ(ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0), 0);
  ibv_qp_attr attributes;
  ibv_qp_init_attr init;
  CHECK_EQ(ibv_query_qp(qp, &attributes, IBV_QP_PATH_MTU, &init), EOPNOTSUPP);
  ibv_qp_open_attr open{};
  refused(ibv_open_qp(device.context(), &open));
  ibv_qp_init_attr plain{};
  plain.qp_type = IBV_QPT_DRIVER;
  plain.send_cq = plain.recv_cq = qp->send_cq;
  refused(efadv_create_driver_qp(device.pd(), &plain, 1));
}

TEST(surface_refuses_other_objects) {
  Device device;
  ibv_context* context = device.context();
  ibv_pd* pd = device.pd();
  ibv_xrcd_init_attr xrcd{};
  refused(ibv_open_xrcd(context, &xrcd));
  ibv_wq_init_attr wq{};
  refused(ibv_create_wq(context, &wq));
  ibv_rwq_ind_table_init_attr table{};
  refused(ibv_create_rwq_ind_table(context, &table));
  ibv_counters_init_attr counters{};
  refused(ibv_create_counters(context, &counters));
  ibv_flow_action_esp_attr esp{};
  refused(ibv_create_flow_action_esp(context, &esp));
  ibv_values_ex values{};
  CHECK_EQ(ibv_query_rt_values_ex(context, &values), EOPNOTSUPP);
  refused(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
  ibv_mw window{};
  window.context = context;
  window.type = IBV_MW_TYPE_1;
  ibv_mw_bind bind{};
  CHECK_EQ(ibv_bind_mw(nullptr, &window, &bind), EOPNOTSUPP);
  CHECK_EQ(ibv_dealloc_mw(&window), EOPNOTSUPP);
  ibv_xrcd domain{};
  domain.context = context;
  CHECK_EQ(ibv_close_xrcd(&domain), EOPNOTSUPP);
  refused(allocDmah(context, nullptr));
  CHECK_EQ(deallocDmah(nullptr), EOPNOTSUPP);
}

TEST(surface_refuses_other_memory) {
  Device device;
  Buffer buffer(device, 4096);
  ibv_alloc_dm_attr attributes{};
  refused(ibv_alloc_dm(device.context(), &attributes));
  CHECK_EQ(exportDm(nullptr), -1);
  CHECK_EQ(errno, EOPNOTSUPP);
  refused(ibv_alloc_null_mr(device.pd()));
  CHECK_EQ(ibv_advise_mr(device.pd(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EOPNOTSUPP);
  CHECK_EQ(ibv_rereg_mr(buffer.mr(), IBV_REREG_MR_CHANGE_PD, device.pd(), nullptr, 0, 0),
           IBV_REREG_MR_ERR_CMD);
  CHECK_EQ(errno, EOPNOTSUPP);
  CHECK_EQ(ibv_rereg_mr(buffer.mr(), 64, device.pd(), nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  CHECK_EQ(errno, EINVAL);
  uint8_t answer[16];
  std::memset(answer, 0xff, sizeof(answer));
  CHECK_EQ(queryMr(buffer.mr(), answer, sizeof(answer)), 0);
  for (const uint8_t byte : answer) CHECK_EQ(byte, 0);
  ibv_mr* mr = ibv_reg_mr_iova(device.pd(), buffer.data(), 4096, 0x1000, IBV_ACCESS_LOCAL_WRITE);
  CHECK(mr != nullptr);
  CHECK_EQ(ibv_dereg_mr(mr), 0);
}

TEST(surface_refuses_imports) {
  Device device;
  errno = 0;
  CHECK(ibv_import_device(-1) == nullptr);
  CHECK_EQ(errno, EINVAL);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  CHECK(ibv_import_device(null) == nullptr);
  CHECK_EQ(errno, ENODEV);
  refused(ibv_import_pd(device.context(), 1));
  refused(ibv_import_mr(device.pd(), 1));
  refused(ibv_import_dm(device.context(), 1));
  ibv_unimport_pd(device.pd());
  ibv_unimport_mr(nullptr);
  ibv_unimport_dm(nullptr);
}

TEST(surface_refuses_queries_of_rings_that_are_too_short) {
  Device device;
  const Endpoint endpoint(device);
  uint8_t attributes[64];
  const auto refuses = [](int error) { return error == EINVAL || error == EOPNOTSUPP; };
  CHECK(refuses(queryCq(endpoint.qp()->send_cq, attributes, 0)));
  CHECK(refuses(queryQpWqs(endpoint.qp(), attributes, attributes, 0)));
}

TEST(surface_refuses_completion_counters) {
  Device device;
  uint64_t words[2] = {1, 1};
  CHECK_EQ(counterCaps(device.context(), words, sizeof(words)), EOPNOTSUPP);
  CHECK_EQ(words[0] + words[1], 0u);
  refused(createCounter(device.context(), words));
  uint64_t efa[10]{};
  refused(createEfaCounter(device.context(), words, efa, sizeof(efa)));
  CHECK_EQ(attachCounter(nullptr, nullptr, nullptr), EOPNOTSUPP);
  CHECK_EQ(destroyCounter(nullptr), EOPNOTSUPP);
  CHECK_EQ(setCounter(nullptr, 1), EOPNOTSUPP);
  CHECK_EQ(setErrorCounter(nullptr, 1), EOPNOTSUPP);
  CHECK_EQ(addToCounter(nullptr, 1), EOPNOTSUPP);
  CHECK_EQ(addToErrorCounter(nullptr, 1), EOPNOTSUPP);
  CHECK_EQ(readCounter(nullptr, words), EOPNOTSUPP);
  CHECK_EQ(readErrorCounter(nullptr, words), EOPNOTSUPP);
}
