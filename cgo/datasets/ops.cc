// The signatures of our dataset operations. What runs them is in the files
// named after them.
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

// The attributes of features: which there are, and how a record stores them.
#define FEATURE_ATTRS                                             \
  .Attr("keys: list(string) >= 1")                                \
      .Attr("kinds: list({'int', 'float', 'bytes', 'raw'}) >= 1") \
      .Attr("values: list(int) >= 1")                             \
      .Attr("big_endian: list(bool) >= 1")

// Those of SequenceExamples, and of what batches are made of them.
#define SEQUENCE_ATTRS                                                     \
  FEATURE_ATTRS.Attr("lists: list(bool) >= 1")                             \
      .Attr("record_types: list(type) >= 1")                               \
      .Attr("record_shapes: list(shape) >= 1")                             \
      .Attr(                                                               \
          "parts: list({'values', 'splits', 'padded', 'lengths', 'mask', " \
          "'elements'}) >= 1")                                             \
      .Attr("of: list(int) >= 1")                                          \
      .Attr("sizes: list(int) >= 1")                                       \
      .Attr("Tfills: list(type) >= 0")

#define OUTPUT_ATTRS \
  .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")

constexpr char kFeatureDoc[] = R"doc(keys: The features, all required.
kinds: How they are stored.
values: How many values a record stores of each; of raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
)doc";

constexpr char kSequenceDoc[] = R"doc(keys: The features, all required.
kinds: How they are stored.
values: How many values a record, or an element of a list, stores of each; of
  raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
lists: Whether they are feature lists.
record_shapes: Of a batch of records, or for lists of their elements.
parts: What each component is: values (of a list those of all records,
  joined), where each record's begin in them, a list padded, its lengths, which
  of its elements are no padding, or how many values each record has.
of: The feature of each component.
sizes: The size that padded lists and masks have, -1 for the longest.
)doc";

REGISTER_OP("MillraceExampleBatchDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("batch_size: int64")
    .Input("epochs: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Output("handle: variant") FEATURE_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the Examples in uncompressed local TFRecord files.

filenames: Read one after the other.
counts: Records of each file, -1 if unknown. Another number is an error.
epochs: Passes over all files, -1 for no end. Batches cross epochs.
)doc",
                      kFeatureDoc));

REGISTER_OP("MillraceSequenceBatchDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("batch_size: int64")
    .Input("epochs: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Input("fills: Tfills")
    .Output("handle: variant") SEQUENCE_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the SequenceExamples in uncompressed local TFRecord files.

filenames: Read one after the other.
counts: Records of each file, -1 if unknown. Another number is an error.
epochs: Passes over all files, -1 for no end. Batches cross epochs.
fills: What to pad each padded component with.
)doc",
                      kSequenceDoc));

REGISTER_OP("MillraceParseBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant") FEATURE_ATTRS OUTPUT_ATTRS
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the serialized Examples that a dataset of strings yields.

)doc",
                      kFeatureDoc));

REGISTER_OP("MillraceParseSequenceBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("fills: Tfills")
    .Output("handle: variant") SEQUENCE_ATTRS OUTPUT_ATTRS
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the serialized SequenceExamples of a dataset of strings.

fills: What to pad each padded component with.
)doc",
                      kSequenceDoc));

REGISTER_OP("MillraceWindowsDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("window: int64")
    .Input("seed: int64")
    .Input("first: int64")
    .Input("epochs: int64")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Input("threads: int64")
    .Output("handle: variant") FEATURE_ATTRS
    .Attr("record_shapes: list(shape) >= 1")
    .Attr("keep_tail: bool")
    .Attr("whole_records: bool") OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields windows of the sequences in uncompressed local files of Examples.

The records of a file are joined along their first axis.

filenames: Read one after the other.

counts: Records of each file. Another number is an error.
window: Smallest and largest size and the stride, 0 for windows one behind the
  other.
seed: Of the sizes, which are drawn by window, epoch and file.
first: The numbers of the first epoch and file in those draws.
epochs: Passes over all files, -1 for no end.
batch_size: Windows in a batch, which have one size; 0 for single windows.
threads: Read the records of one element, the caller's among them.
record_shapes: The shapes of records, with one more axis in front.
keep_tail: Whether a last window may be shorter, but not than the smallest.
whole_records: Whether sizes count records and not positions.
)doc");

#undef OUTPUT_ATTRS
#undef SEQUENCE_ATTRS
#undef FEATURE_ATTRS

}  // namespace
}  // namespace millrace
