// The objects of libfabric whose calls can fail, from fi_fabric(3) down to regions.
#include "objects.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "hook.h"

namespace faults {

namespace {

template <auto Member, Kind kind>
using OfFid = Hook<fid, &fid::ops, Member, kind>;

void hookEndpointCalls(fid_ep* ep);

int control(fid* self, int command, void* argument) {
  if (isAddon(__builtin_return_address(0))) {
    const auto [fails, error] = decide(command == FI_ENABLE ? Kind::Enable : Kind::Wait);
    if (fails) return -error;
  }
  const int result = original(self->ops)->control(self, command, argument);
  // A provider may choose the calls of an endpoint when it is enabled.
  if (command == FI_ENABLE) hookEndpointCalls(reinterpret_cast<fid_ep*>(self));
  return result;
}

void hookFid(fid& object) {
  replace(object.ops, [](fi_ops* ops) {
    OfFid<&fi_ops::close, Kind::Close>::install(ops);
    OfFid<&fi_ops::bind, Kind::Bind>::install(ops);
    if (ops->control != nullptr) ops->control = control;
  });
}

void hookMr(fid_mr* mr) { hookFid(mr->fid); }

void hookAv(fid_av* av) {
  hookFid(av->fid);
  replace(av->ops, [](fi_ops_av* ops) {
    Hook<fid_av, &fid_av::ops, &fi_ops_av::insert, Kind::Insert>::install(ops);
    Hook<fid_av, &fid_av::ops, &fi_ops_av::insertsvc, Kind::Insert>::install(ops);
    Hook<fid_av, &fid_av::ops, &fi_ops_av::remove, Kind::Insert>::install(ops);
    Hook<fid_av, &fid_av::ops, &fi_ops_av::lookup, Kind::Option>::install(ops);
  });
}

void hookCq(fid_cq* cq) {
  hookFid(cq->fid);
  replace(cq->ops, [](fi_ops_cq* ops) {
    Hook<fid_cq, &fid_cq::ops, &fi_ops_cq::read, Kind::Read>::install(ops);
    Hook<fid_cq, &fid_cq::ops, &fi_ops_cq::readfrom, Kind::Read>::install(ops);
  });
}

void hookCntr(fid_cntr* cntr) { hookFid(cntr->fid); }

void hookEq(fid_eq* eq) { hookFid(eq->fid); }

template <auto Member>
using Message = Hook<fid_ep, &fid_ep::msg, Member, Kind::Post>;
template <auto Member>
using Tagged = Hook<fid_ep, &fid_ep::tagged, Member, Kind::Post>;
template <auto Member>
using Rma = Hook<fid_ep, &fid_ep::rma, Member, Kind::Post>;
template <auto Member>
using Atomic = Hook<fid_ep, &fid_ep::atomic, Member, Kind::Post>;
template <auto Member, Kind kind>
using OfEndpoint = Hook<fid_ep, &fid_ep::ops, Member, kind>;

void hookEndpointCalls(fid_ep* ep) {
  replace(ep->ops, [](fi_ops_ep* ops) {
    OfEndpoint<&fi_ops_ep::cancel, Kind::Cancel>::install(ops);
    OfEndpoint<&fi_ops_ep::getopt, Kind::Option>::install(ops);
    OfEndpoint<&fi_ops_ep::setopt, Kind::Option>::install(ops);
  });
  replace(ep->cm, [](fi_ops_cm* ops) {
    Hook<fid_ep, &fid_ep::cm, &fi_ops_cm::getname, Kind::Option>::install(ops);
  });
  replace(ep->msg, [](fi_ops_msg* ops) {
    Message<&fi_ops_msg::recvmsg>::install(ops);
    Message<&fi_ops_msg::sendmsg>::install(ops);
    Message<&fi_ops_msg::inject>::install(ops);
    Message<&fi_ops_msg::injectdata>::install(ops);
  });
  replace(ep->tagged, [](fi_ops_tagged* ops) {
    Tagged<&fi_ops_tagged::recvmsg>::install(ops);
    Tagged<&fi_ops_tagged::sendmsg>::install(ops);
    Tagged<&fi_ops_tagged::inject>::install(ops);
    Tagged<&fi_ops_tagged::injectdata>::install(ops);
  });
  replace(ep->rma, [](fi_ops_rma* ops) {
    Rma<&fi_ops_rma::readmsg>::install(ops);
    Rma<&fi_ops_rma::writemsg>::install(ops);
    Rma<&fi_ops_rma::inject>::install(ops);
    Rma<&fi_ops_rma::injectdata>::install(ops);
  });
  replace(ep->atomic, [](fi_ops_atomic* ops) {
    Atomic<&fi_ops_atomic::writemsg>::install(ops);
    Atomic<&fi_ops_atomic::readwritemsg>::install(ops);
    Atomic<&fi_ops_atomic::compwritemsg>::install(ops);
  });
}

void hookEndpoint(fid_ep* ep) {
  hookFid(ep->fid);
  hookEndpointCalls(ep);
}

/** A call that opens an object. The argument before the last `Rest` ones points to the object's
 * pointer. */
template <typename Object, auto Pointer, auto Member, auto Opened, Kind kind>
struct Opening;

template <typename Object, typename Table, Table* Object::*Pointer, typename Self, typename Attr,
          typename Made, int (*Table::*Member)(Self*, Attr*, Made**, void*), void (*Opened)(Made*),
          Kind kind>
struct Opening<Object, Pointer, Member, Opened, kind> {
  static int call(Self* self, Attr* attr, Made** made, void* context) {
    const bool counts = isAddon(__builtin_return_address(0));
    if (counts) {
      const auto [fails, error] = decide(kind);
      if (fails) return -error;
    }
    const int result = (original(self->*Pointer)->*Member)(self, attr, made, context);
    if (result == 0 && counts) Opened(*made);
    return result;
  }
};

template <auto Member, auto Opened>
using OfDomain = Opening<fid_domain, &fid_domain::ops, Member, Opened, Kind::Open>;
template <auto Member, auto Opened>
using OfFabric = Opening<fid_fabric, &fid_fabric::ops, Member, Opened, Kind::Open>;

bool refused(Kind kind, int& result) {
  const auto [fails, error] = decide(kind);
  result = -error;
  return fails;
}

int reg(fid* domain, const void* buffer, size_t length, uint64_t access, uint64_t offset,
        uint64_t key, uint64_t flags, fid_mr** mr, void* context) {
  int result = 0;
  const bool counts = isAddon(__builtin_return_address(0));
  if (counts && refused(Kind::Register, result)) return result;
  const auto* table = original(reinterpret_cast<fid_domain*>(domain)->mr);
  result = table->reg(domain, buffer, length, access, offset, key, flags, mr, context);
  if (result == 0 && counts) hookMr(*mr);
  return result;
}

int regattr(fid* domain, const fi_mr_attr* attr, uint64_t flags, fid_mr** mr) {
  int result = 0;
  const bool counts = isAddon(__builtin_return_address(0));
  if (counts && refused(Kind::Register, result)) return result;
  result = original(reinterpret_cast<fid_domain*>(domain)->mr)->regattr(domain, attr, flags, mr);
  if (result == 0 && counts) hookMr(*mr);
  return result;
}

void hookDomain(fid_domain* domain) {
  hookFid(domain->fid);
  replace(domain->ops, [](fi_ops_domain* ops) {
    ops->av_open = OfDomain<&fi_ops_domain::av_open, hookAv>::call;
    ops->cq_open = OfDomain<&fi_ops_domain::cq_open, hookCq>::call;
    ops->cntr_open = OfDomain<&fi_ops_domain::cntr_open, hookCntr>::call;
    ops->endpoint = OfDomain<&fi_ops_domain::endpoint, hookEndpoint>::call;
  });
  replace(domain->mr, [](fi_ops_mr* ops) {
    ops->reg = reg;
    ops->regattr = regattr;
  });
}

}  // namespace

void hookFabric(fid_fabric* fabric) {
  hookFid(fabric->fid);
  replace(fabric->ops, [](fi_ops_fabric* ops) {
    ops->domain = OfFabric<&fi_ops_fabric::domain, hookDomain>::call;
    ops->eq_open = OfFabric<&fi_ops_fabric::eq_open, hookEq>::call;
  });
}

}  // namespace faults
