#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace fab {

// The ownership graph, written once. A child registers with its parents, and until it is closed
// both hold each other: what nobody closes stays, because its memory may be in use. Closing a
// parent closes its children first; closing twice is fine; what fi_close(3) refuses is reported and
// can be tried again. What is lost counts as closed, with all below it, and is left as it is: a
// call of its provider does not return. Where a child lingers, its parent closes when that child
// has.
class Resource : public std::enable_shared_from_this<Resource> {
 public:
  virtual ~Resource() = default;

  void dependsOn(const std::shared_ptr<Resource>& parent) {
    if (!lost_) lost_ = parent->lost_;
    parent->children_.push_back(shared_from_this());
    parents_.push_back(parent);
  }

  bool closed() const { return closed_ || (lost_ && *lost_); }
  // Whether it goes on to use its parents although its user has closed it.
  virtual bool lingers() const { return false; }

  // Returns the first error (a negative fi_errno), 0 on success.
  int close() {
    if (closed()) return 0;
    const auto lingers = [](const auto& child) { return child->lingers(); };
    closesLater_ = std::any_of(children_.begin(), children_.end(), lingers);
    return closesLater_ ? closeChildren(lingers) : closeNow();
  }

  // The same, whatever lingers.
  int closeNow() {
    if (closed()) return 0;
    const auto self = shared_from_this();  // the parents let go of it
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
  // Of the top of what can be lost together, before it has children.
  void canBeLost() { lost_ = std::make_shared<std::atomic<bool>>(false); }
  void lose() { lost_->store(true); }

 private:
  template <typename Except>
  int closeChildren(const Except& except) {
    int first = 0;
    const auto children = children_;  // which leave the list as they close
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
  std::shared_ptr<std::atomic<bool>> lost_;
};

}  // namespace fab
