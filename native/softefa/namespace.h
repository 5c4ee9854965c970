#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "folder_lock.h"
#include "knobs.h"
#include "mapping.h"
#include "member.h"

namespace softefa {

// The folder of a namespace, <directory>/softefa-<uid>.<name>, mode 0700: the page of knobs, a
// folder for each member, which holds its segment, sockets and sysfs tree, and a folder "node-<n>"
// for each node, whose devices' counters outlive the members. Who joins removes what dead members
// left, in other namespaces of the user, too. The last one to leave removes everything but the
// nodes, and the nodes as well unless a member asked to keep them ("keep").
class Namespace {
 public:
  // Exclusive use of the folder.
  class Lock : public FolderLock {
   public:
    explicit Lock(const Namespace& space);
  };

  struct Place {
    std::string directory;
    std::string name;

    std::string path() const;
  };

  // Joins as this process.
  Namespace(const Place& place, bool keep);
  // Removes this member, and what is not kept if it was the last. Called once.
  void leave();
  // Removes a namespace with all that is kept there; the number of living members if there are any,
  // which prevent it. Throws std::system_error.
  static unsigned remove(const Place& place);

  const Member& self() const { return self_; }
  const std::string& path() const { return path_; }
  std::string memberPath(const std::string& member) const { return path_ + "/" + member; }
  std::vector<std::string> members() const { return Member::namesIn(path_); }
  Knobs& knobs() const { return *knobs_.at<Knobs>(0); }

 private:
  void join(bool keep);

  std::string path_;
  Member self_;
  Mapping knobs_;
};

}  // namespace softefa
