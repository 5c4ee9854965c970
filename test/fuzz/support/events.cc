// The events of a transfer engine, without Node.js: they are discarded.
#include "../../../native/transfer/events.h"

namespace fab::transfer {

class Events::Mailbox {};

Events::Events(napi_env, Deliver) {}
Events::~Events() = default;
void Events::add(Event) {}
void Events::ref(bool) {}
void Events::close() {}
void Events::beforeEnd(std::function<void()>) {}

}  // namespace fab::transfer
