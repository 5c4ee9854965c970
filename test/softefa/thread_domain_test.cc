#include <errno.h>

#include "verbs.h"

using namespace verbs;

TEST(thread_domain_is_busy_under_a_parent_domain) {
  Device device;
  ibv_td_init_attr wanted{};
  ibv_td* thread = ibv_alloc_td(device.context(), &wanted);
  CHECK(thread != nullptr);
  wanted.comp_mask = 1;
  CHECK(ibv_alloc_td(device.context(), &wanted) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
  ibv_pd* pd = ibv_alloc_pd(device.context());
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = pd;
  attributes.td = thread;
  ibv_pd* parent = ibv_alloc_parent_domain(device.context(), &attributes);
  CHECK(parent != nullptr);
  CHECK_EQ(parent->handle, pd->handle);
  CHECK_EQ(ibv_dealloc_td(thread), EBUSY);
  CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
  CHECK_EQ(ibv_dealloc_pd(parent), 0);
  CHECK_EQ(ibv_dealloc_td(thread), 0);
  CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

TEST(thread_domain_parents_do_not_nest) {
  Device device;
  ibv_parent_domain_init_attr attributes{};
  CHECK(ibv_alloc_parent_domain(device.context(), &attributes) == nullptr);
  CHECK_EQ(errno, EINVAL);
  attributes.pd = device.pd();
  attributes.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  CHECK(ibv_alloc_parent_domain(device.context(), &attributes) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
  attributes.comp_mask = 0;
  ibv_pd* parent = ibv_alloc_parent_domain(device.context(), &attributes);
  CHECK(parent != nullptr);
  attributes.pd = parent;
  CHECK(ibv_alloc_parent_domain(device.context(), &attributes) == nullptr);
  CHECK_EQ(errno, EINVAL);
  CHECK_EQ(ibv_dealloc_pd(parent), 0);
}

TEST(thread_domain_queue_pairs_reach_memory_of_the_domain) {
  Device device;
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = device.pd();
  ibv_pd* parent = ibv_alloc_parent_domain(device.context(), &attributes);
  CHECK(parent != nullptr);
  {
    Shape shape;
    shape.pd = parent;
    Endpoint a(device, shape), b(device, shape);
    CHECK_EQ(ibv_dealloc_pd(parent), EBUSY);
    Buffer from(device, 4096), to(parent, 4096);
    from.fill(5);
    CHECK_EQ(a.write(b.address(), from.all(), to.remote()), 0);
    CHECK_EQ(a.next().status, Status::kOk);
    CHECK(to.holds(5, 0, 4096));
  }
  CHECK_EQ(ibv_dealloc_pd(parent), 0);
}

TEST(thread_domain_of_a_completion_queue) {
  Device device;
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = device.pd();
  ibv_pd* parent = ibv_alloc_parent_domain(device.context(), &attributes);
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 16;
  wanted.wc_flags = IBV_WC_STANDARD_FLAGS;
  wanted.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD | IBV_CQ_INIT_ATTR_MASK_FLAGS;
  wanted.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  wanted.parent_domain = device.pd();
  CHECK(ibv_create_cq_ex(device.context(), &wanted) == nullptr);
  CHECK_EQ(errno, EINVAL);
  wanted.parent_domain = parent;
  ibv_cq_ex* cq = ibv_create_cq_ex(device.context(), &wanted);
  CHECK(cq != nullptr);
  CHECK_EQ(ibv_dealloc_pd(parent), EBUSY);
  CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  CHECK_EQ(ibv_dealloc_pd(parent), 0);
  wanted.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  wanted.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  CHECK(ibv_create_cq_ex(device.context(), &wanted) == nullptr);
  CHECK_EQ(errno, EOPNOTSUPP);
}
