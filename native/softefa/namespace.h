#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "knobs.h"
#include "mapping.h"
#include "process_id.h"

namespace softefa {

// The folder of a namespace, <directory>/softefa-<uid>-<name>, mode 0700: the page of knobs and a
// folder a member, "<pid>.<start>", which holds its segment, sockets and sysfs tree. Who joins
// removes what dead members left, in namespaces that nobody uses any more, too; the last one to
// leave removes the folder. Changes are made under a lock on the folder.
class Namespace {
 public:
  // Exclusive use of the folder.
  class Lock {
   public:
    explicit Lock(const Namespace& space);

   private:
    Fd folder_;
  };

  // Joins as this process.
  Namespace();
  // Removes this member, and the folder if it was the last. Called once, when the process ends.
  void leave();

  const ProcessId& self() const { return self_; }
  const std::string& path() const { return path_; }
  std::string memberPath(const ProcessId& member) const { return path_ + "/" + member.name(); }
  std::vector<ProcessId> members() const;
  Knobs& knobs() const { return *knobs_.at<Knobs>(0); }

 private:
  void join();

  ProcessId self_;
  std::string path_;
  Mapping knobs_;
};

}  // namespace softefa
