// Faults as statuses of TensorFlow.
#ifndef MILLRACE_CGO_DATASETS_STATUS_H_
#define MILLRACE_CGO_DATASETS_STATUS_H_

#include "absl/status/status.h"
#include "fault.h"

namespace millrace {

// ToStatus returns a fault as a status. Its message says everything for a
// person, and ends with the same as data, for a program:
//
//   [millrace.fault class=truncated&file=%2Fa%2Fb&record=3&offset=120&what=...]
//
// That is the query of a URL with the keys class, one of those of Go's package
// millrace, file, record, offset, feature and what; those that are not known
// are left out. Every byte but letters and digits is escaped, so that nothing
// in a name can end it. It is part of the message because a status's payload
// gets lost: TensorFlow makes a new status of what fails within a function of a
// Map, and takes over the code and the message alone.
absl::Status ToStatus(const Fault& fault);

// ToFault returns a status, of TensorFlow's file systems for one, as a fault
// without a place.
Fault ToFault(const absl::Status& status);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_STATUS_H_
