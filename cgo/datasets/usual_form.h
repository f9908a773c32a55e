// Whether a record is an Example as every library writes it.
#ifndef MILLRACE_CGO_DATASETS_USUAL_FORM_H_
#define MILLRACE_CGO_DATASETS_USUAL_FORM_H_

#include <string_view>

namespace millrace {

// UsualForm reports whether a record is an Example as every library writes it:
// one map of features, each entry a key and then a value, a list packed or not,
// and all lengths exact.
//
// TensorFlow's parser, and so ExampleDecoder, reads on over much that is no
// protobuf, such as a length that reaches past the record. A strict parser
// refuses that. On a record of the usual form they agree, so that only the
// others need a second opinion.
bool UsualForm(std::string_view record);

// UsualSequenceForm is UsualForm for SequenceExamples: the features of the
// context, each with a list, and then the feature lists, each a map as
// in an Example. One of the two maps may be missing.
bool UsualSequenceForm(std::string_view record);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_USUAL_FORM_H_
