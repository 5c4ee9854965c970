#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace fab {

// The ownership graph, written once. A child registers with its parents, and until it is closed
// both hold each other: what nobody closes stays, because its memory may be in use. Closing a
// parent closes its children first; closing twice is fine; what fi_close(3) refuses is reported and
// can be tried again.
class Resource : public std::enable_shared_from_this<Resource> {
 public:
  virtual ~Resource() = default;

  void dependsOn(const std::shared_ptr<Resource>& parent) {
    parent->children_.push_back(shared_from_this());
    parents_.push_back(parent);
  }

  bool closed() const { return closed_; }

  // Returns the first error (a negative fi_errno), 0 on success.
  int close() {
    if (closed_) return 0;
    const auto self = shared_from_this();  // the parents let go of it
    int first = 0;
    const auto children = children_;  // which leave the list as they close
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      const int ret = (*child)->close();
      if (first == 0) first = ret;
    }
    if (first != 0) return first;
    const int ret = closeSelf();
    if (ret != 0) return ret;
    closed_ = true;
    children_.clear();
    for (auto& parent : parents_) parent->forget(this);
    parents_.clear();
    return 0;
  }

  template <typename T>
  std::vector<std::shared_ptr<T>> childrenOf() const {
    std::vector<std::shared_ptr<T>> found;
    for (const auto& child : children_) {
      if (auto each = std::dynamic_pointer_cast<T>(child)) found.push_back(std::move(each));
    }
    return found;
  }

 protected:
  virtual int closeSelf() = 0;

 private:
  void forget(const Resource* child) {
    const auto found = std::find_if(children_.begin(), children_.end(),
                                    [&](const auto& held) { return held.get() == child; });
    if (found != children_.end()) children_.erase(found);
  }

  std::vector<std::shared_ptr<Resource>> parents_;
  std::vector<std::shared_ptr<Resource>> children_;
  std::atomic<bool> closed_{false};  // read by any thread
};

}  // namespace fab
