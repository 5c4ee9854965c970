// Changes of a queue pair's state, as the kernel driver permits them: amzn-drivers 3.1.0,
// efa_verbs.c, lines 1427 to 1590.

#include <errno.h>

#include "verbs.h"

using namespace verbs;

TEST(state_changes) {
  Device device;
  Endpoint endpoint(device);
  ibv_qp_attr attributes{};
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_AV), EOPNOTSUPP);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_PORT), EINVAL);    // not in this change
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);  // not in this change
  CHECK_EQ(endpoint.modify(IBV_QPS_ERR, IBV_QP_QKEY), EINVAL);    // with the state only
  CHECK_EQ(endpoint.modify(IBV_QPS_RTR, IBV_QP_QKEY), EINVAL);    // backwards
  attributes.cur_qp_state = IBV_QPS_INIT;
  CHECK_EQ(endpoint.modify(IBV_QPS_RTR, IBV_QP_CUR_STATE, attributes), EINVAL);
  attributes.cur_qp_state = IBV_QPS_RTS;
  attributes.qkey = kQkey;
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_CUR_STATE | IBV_QP_QKEY, attributes), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_SQD), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_SQD, IBV_QP_PKEY_INDEX), 0);
  attributes.pkey_index = 1;
  CHECK_EQ(endpoint.modify(IBV_QPS_SQD, IBV_QP_PKEY_INDEX, attributes), EOPNOTSUPP);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_RESET), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_ERR), EINVAL);
  attributes = {};
  attributes.port_num = 2;
  CHECK_EQ(endpoint.modify(IBV_QPS_INIT, kInitMask, attributes), EINVAL);
  CHECK_EQ(endpoint.modify(IBV_QPS_INIT, kInitMask), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTR, IBV_QP_PORT), EINVAL);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTR), 0);
  attributes = {};
  attributes.sq_psn = 77;
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_SQ_PSN, attributes), 0);
  ibv_qp_init_attr initial{};
  CHECK_EQ(ibv_query_qp(endpoint.qp(), &attributes, IBV_QP_SQ_PSN, &initial), 0);  // D:501
  CHECK_EQ(attributes.sq_psn, 77u);
}

TEST(state_changes_of_datagrams) {
  Device device;
  Shape shape;
  shape.ud = true;
  Endpoint endpoint(device, shape);
  CHECK_EQ(endpoint.modify(IBV_QPS_RESET), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_INIT, kInitMask), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTR), 0);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_RNR_RETRY), EINVAL);
  CHECK_EQ(endpoint.modify(IBV_QPS_RTS, IBV_QP_SQ_PSN), 0);
}
