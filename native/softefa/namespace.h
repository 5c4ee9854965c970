#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "folder_lock.h"
#include "knobs.h"
#include "mapping.h"
#include "member.h"

namespace softefa {

// The folder of a namespace, <directory>/softefa-<uid>.<name>, with mode 0700. It contains
//
// - the page of knobs;
// - a folder for each member, with its segment, sockets and sysfs tree;
// - a folder "node-<n>" for each node, with the counters of its devices, which outlive the members.
//
// A process that joins removes the files of dead members, also in other namespaces of the user. The
// last member that leaves removes everything except the nodes. It also removes the nodes, unless a
// member asked to keep them ("keep").
class Namespace {
 public:
  // Locks the folder exclusively.
  class Lock : public FolderLock {
   public:
    explicit Lock(const Namespace& space);
  };

  struct Place {
    std::string directory;
    std::string name;

    std::string path() const;
  };

  // Adds this process as a member.
  Namespace(const Place& place, bool keep);
  // Removes this member. The last member also removes everything that is not kept. Must be called
  // only once.
  void leave();
  // Removes a namespace with everything that is kept there. If it has living members, removes
  // nothing and returns their number. Throws std::system_error.
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
