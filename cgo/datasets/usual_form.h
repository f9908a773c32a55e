// Whether a record has the usual encoding of an Example.
#ifndef MILLRACE_CGO_DATASETS_USUAL_FORM_H_
#define MILLRACE_CGO_DATASETS_USUAL_FORM_H_

#include <string_view>

namespace millrace {

// UsualForm reports whether a record is an Example encoded as by every library:
// one map of features, each entry a key and then a value, each key once, a list
// packed or not, and all lengths exact. A map of very many keys is not usual.
//
// TensorFlow's parser, and so ExampleDecoder, accepts many invalid encodings,
// such as a length that reaches past the record. A strict parser refuses them.
// On records of the usual form both agree, so only other records need a second
// check.
bool UsualForm(std::string_view record);

// UsualSequenceForm is UsualForm for SequenceExamples: the features of the
// context, each with a list, and then the feature lists, each a map as
// in an Example. One of the two maps may be missing.
bool UsualSequenceForm(std::string_view record);

}  // namespace millrace

#endif  // MILLRACE_CGO_DATASETS_USUAL_FORM_H_
