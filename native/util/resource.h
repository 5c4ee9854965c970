#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace fab {

// The base class of the ownership graph.
//
// - A child registers with its parents. Parent and child hold each other until the child is closed:
//   an object that is never closed stays, because its memory may be in use.
// - Closing a parent closes its children first. An object may be closed twice. If fi_close(3)
//   refuses an object, close() returns the error and may be called again.
// - If a provider call does not return, the domain is leaked. It and all its descendants count as
//   closed and stay as they are.
// - If a child is draining, its parent closes after the child.
class Resource : public std::enable_shared_from_this<Resource> {
 public:
  virtual ~Resource() = default;

  void dependsOn(const std::shared_ptr<Resource>& parent) {
    if (!leaked_) leaked_ = parent->leaked_;
    parent->children_.push_back(shared_from_this());
    parents_.push_back(parent);
  }

  bool closed() const { return closed_ || (leaked_ && *leaked_); }
  // Whether the object still uses its parents although the program has closed it.
  virtual bool isDraining() const { return false; }

  // Returns the first error (a negative fi_errno), 0 on success.
  int close() {
    if (closed()) return 0;
    const auto draining = [](const auto& child) { return child->isDraining(); };
    closesLater_ = std::any_of(children_.begin(), children_.end(), draining);
    return closesLater_ ? closeChildren(draining) : closeNow();
  }

  // The same, but also closes children that are draining.
  int closeNow() {
    if (closed()) return 0;
    const auto self = shared_from_this();  // the parents release it
    int ret = closeChildren([](const auto&) { return false; });
    if (ret == 0) ret = closeSelf();
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
  // For the root of objects that can only be leaked together. Must be called before it has
  // children.
  void shareLeaked() { leaked_ = std::make_shared<std::atomic<bool>>(false); }
  void setLeaked() { leaked_->store(true); }

 private:
  template <typename Except>
  int closeChildren(const Except& except) {
    int first = 0;
    const auto children = children_;  // a copy: children leave the list when they close
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      const int ret = except(*child) ? 0 : (*child)->closeNow();
      if (first == 0) first = ret;
    }
    return first;
  }

  void forget(const Resource* child) {
    const auto found = std::find_if(children_.begin(), children_.end(),
                                    [&](const auto& held) { return held.get() == child; });
    if (found != children_.end()) children_.erase(found);
    if (closesLater_ && children_.empty()) closeNow();
  }

  std::vector<std::shared_ptr<Resource>> parents_;
  std::vector<std::shared_ptr<Resource>> children_;
  std::atomic<bool> closed_{false};  // read by any thread
  bool closesLater_ = false;
  std::shared_ptr<std::atomic<bool>> leaked_;
};

}  // namespace fab
