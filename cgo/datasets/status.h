// Faults as statuses of TensorFlow.
#ifndef MILLRACE_CGO_DATASETS_STATUS_H_
#define MILLRACE_CGO_DATASETS_STATUS_H_

#include "absl/status/status.h"
#include "fault.h"

namespace millrace {

// ToStatus returns a fault as a status. Its message describes the fault for a
// person, and ends with the same as data for a program:
//
//   [millrace.fault class=truncated&file=%2Fa%2Fb&record=3&offset=120&what=...]
//
// That is the query of a URL with the keys class, one of those of Go's package
// millrace, file, record, offset, feature and what; unknown ones are omitted.
// Every byte except letters and digits is escaped, so that a name cannot end
// it. It is part of the message because a status's payload gets lost:
// TensorFlow makes a new status from a failure within a function of a Map, and
// only keeps the code and the message.
absl::Status ToStatus(const Fault& fault);

// ToFault converts a status, for example from TensorFlow's file systems, to a
// fault without a location.
Fault ToFault(const absl::Status& status);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_STATUS_H_
