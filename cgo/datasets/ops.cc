// The signatures of our dataset operations. Their kernels are in the files
// named after them.
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace millrace {
namespace {

using namespace tensorflow;  // NOLINT

// The attributes of features: their names, and how a record stores them.
#define FEATURE_ATTRS                                             \
  .Attr("keys: list(string) >= 1")                                \
      .Attr("kinds: list({'int', 'float', 'bytes', 'raw'}) >= 1") \
      .Attr("values: list(int) >= 1")                             \
      .Attr("big_endian: list(bool) >= 1")                        \
      .Attr("finite: list(bool) = []")

// The attributes of records with lists.
#define RECORD_ATTRS                           \
  FEATURE_ATTRS.Attr("examples: bool = false") \
      .Attr("lists: list(bool) >= 1")          \
      .Attr("optional: list(bool) = []")       \
      .Attr("record_types: list(type) >= 1")   \
      .Attr("record_shapes: list(shape) >= 1")

// The attributes of batches of such records.
#define SEQUENCE_ATTRS                                                     \
  RECORD_ATTRS                                                             \
      .Attr(                                                               \
          "parts: list({'values', 'splits', 'padded', 'lengths', 'mask', " \
          "'elements'}) >= 1")                                             \
      .Attr("of: list(int) >= 1")                                          \
      .Attr("sizes: list(int) >= 1")                                       \
      .Attr("most: list(int) = []")                                        \
      .Attr("Tfills: list(type) >= 0")

#define FILE_ATTRS .Attr("compression: {'', 'GZIP', 'ZLIB'} = ''")

#define BATCH_FILE_ATTRS FILE_ATTRS.Attr("threads: int = 1")

// The attributes of a computed order.
#define ORDER_ATTRS                                        \
  .Attr("shuffling: {'none', 'exact', 'block', 'buffer'}") \
      .Attr("seed: int")                                   \
      .Attr("block: int = 1")                              \
      .Attr("mixed: int = 1")                              \
      .Attr("files_buffer: int = 1")                       \
      .Attr("files_at_once: int = 1")                      \
      .Attr("begin: int = 0")                              \
      .Attr("size: int")                                   \
      .Attr("epochs: int")                                 \
      .Attr("threads: int = 1")

#define ORDERED_INPUTS          \
  .Input("filenames: string")   \
      .Input("counts: int64")   \
      .Input("lengths: uint32") \
      .Input("sources: int64")  \
      .Input("start: int64")

// A function that decides about bad records, and what it captures.
#define JUDGE_ATTRS .Attr("f: func").Attr("Targuments: list(type) >= 0")

#define SKIPPED_ATTRS .Attr("skipped: list(int) = []")

#define PLACED_ATTRS .Attr("placed: bool = false")

#define OUTPUT_ATTRS \
  .Attr("output_types: list(type) >= 1").Attr("output_shapes: list(shape) >= 1")

constexpr char kFeatureDoc[] = R"doc(keys: The features, all required.
kinds: How they are stored.
values: How many values a record stores of each; of raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
finite: Whether a value that is NaN or infinite is an error.
)doc";

constexpr char kSequenceDoc[] = R"doc(keys: The features, all required unless
  they are optional.
kinds: How they are stored.
values: How many values a record, or an element of a list, stores of each; of
  raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
finite: Whether a value that is NaN or infinite is an error; not of lists.
examples: Whether records are Examples and not SequenceExamples.
lists: Whether they are feature lists, or features of Examples that have any
  number of elements.
optional: Which lists of Examples are empty where a record lacks them.
record_shapes: Of a batch of records, or for lists of their elements.
parts: What each component is: values (of a list those of all records,
  joined), where each record's begin in them, a list padded, its lengths, which
  of its elements are no padding, or how many values each record has.
of: The feature of each component.
sizes: The size that padded lists and masks have, -1 for the longest.
most: How many elements of a record are used, -1 for all.
)doc";

constexpr char kPlacedDoc[] =
    R"doc(placed: Whether records carry their place, as those of MillraceRecordsDataset
  may.
placed_files: The names of the files that places number; empty without.
)doc";

constexpr char kSkippedDoc[] =
    R"doc(skipped: Records that do not come: the number of the file, the record in it,
  and the offset of the record after it, -1 if the rest of the file does not come
  either. Sorted by file and record.
)doc";

constexpr char kJudgeDoc[] =
    R"doc(f: Decides about a record that cannot be decoded for sure. It maps the number
  of the file, the record in it, its offset and a vector of its data, empty if it
  cannot be read, to the record to go on with and its offset; to -1 and -1 for a good record, and to the number of records and
  -1 where the rest of the file is to be left out.
)doc";

constexpr char kPositionJudgeDoc[] =
    R"doc(f: Decides about a record that cannot be decoded for sure. It maps the number
  of the file, the record in it, its position in the order and an empty vector of
  strings to -1 and -1 for a good record, and else to other numbers.
)doc";

constexpr char kOrderDoc[] =
    R"doc(filenames: The files, which are plain local ones.
counts: Records of each file.
lengths: Data bytes of all records, file after file.
sources: Of each dataset that is mixed: its first record, its records, and the
  number below which a drawn number is its.
start: The position of the first record that comes, or a vector of it and the
  position after the last.
shuffling: none, exact (one permutation), block (blocks are permuted, and the
  records of some blocks mixed) or buffer (as tf.data's buffers give them).
block: Records of a block.
mixed: Records that are mixed with each other; of buffer, the size of the buffer
  of records.
files_buffer: Of buffer, the size of the buffer of files.
files_at_once: Of buffer, how many files are read in turns.
begin: Where each epoch's order begins.
size: How many records of it come.
epochs: How often, -1 for no end.
threads: How many read at the same time.
)doc";

// ComponentShapes sets the shapes of the attribute.
absl::Status ComponentShapes(shape_inference::InferenceContext* c) {
  std::vector<PartialTensorShape> shapes;
  TF_RETURN_IF_ERROR(c->GetAttr("output_shapes", &shapes));
  for (int i = 0; i < c->num_outputs(); ++i) {
    if (static_cast<size_t>(i) >= shapes.size()) {
      return absl::InvalidArgumentError("fewer shapes than types");
    }
    shape_inference::ShapeHandle shape;
    TF_RETURN_IF_ERROR(c->MakeShapeFromPartialTensorShape(shapes[i], &shape));
    c->set_output(i, shape);
  }
  return absl::OkStatus();
}

// UnknownVector is an output that is a vector.
absl::Status UnknownVector(shape_inference::InferenceContext* c) {
  c->set_output(0, c->Vector(shape_inference::InferenceContext::kUnknownDim));
  return absl::OkStatus();
}

// TwoScalars sets the shapes of two scalar outputs.
absl::Status TwoScalars(shape_inference::InferenceContext* c) {
  c->set_output(0, c->Scalar());
  c->set_output(1, c->Scalar());
  return absl::OkStatus();
}

// TwoVectors sets the shapes of two output vectors of the same length.
absl::Status TwoVectors(shape_inference::InferenceContext* c) {
  const shape_inference::ShapeHandle shape =
      c->Vector(shape_inference::InferenceContext::kUnknownDim);
  c->set_output(0, shape);
  c->set_output(1, shape);
  return absl::OkStatus();
}

REGISTER_OP("MillraceExampleBatchDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("batch_size: int64")
    .Input("epochs: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Output("handle: variant") FEATURE_ATTRS BATCH_FILE_ATTRS OUTPUT_ATTRS
    SKIPPED_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the Examples in TFRecord files.

filenames: Read one after the other.
counts: Records of each file, -1 if unknown. Another number is an error.
epochs: Passes over all files, -1 for no end. Batches cross epochs.
threads: How many compressed files are inflated at the same time.
)doc",
                      kFeatureDoc, kSkippedDoc));

REGISTER_OP("MillraceJudgedExampleBatchDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("batch_size: int64")
    .Input("epochs: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Input("other_arguments: Targuments")
    .Output("handle: variant")
        JUDGE_ATTRS FEATURE_ATTRS BATCH_FILE_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the good Examples in TFRecord files.

filenames: Read one after the other.
counts: Records of each file, -1 if unknown. Another number is an error.
epochs: Passes over all files, -1 for no end. Batches cross epochs.
threads: How many compressed files are inflated at the same time.
)doc",
                      kJudgeDoc, kFeatureDoc));

REGISTER_OP("MillraceSequenceBatchDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("batch_size: int64")
    .Input("epochs: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Input("fills: Tfills")
    .Output("handle: variant") SEQUENCE_ATTRS BATCH_FILE_ATTRS OUTPUT_ATTRS
    SKIPPED_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the records with lists in TFRecord files.

filenames: Read one after the other.
counts: Records of each file, -1 if unknown. Another number is an error.
epochs: Passes over all files, -1 for no end. Batches cross epochs.
threads: How many compressed files are inflated at the same time.
fills: What to pad each padded component with.
)doc",
                      kSequenceDoc, kSkippedDoc));

REGISTER_OP("MillraceJudgedSequenceBatchDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("batch_size: int64")
    .Input("epochs: int64")
    .Input("drop_remainder: bool")
    .Input("buffer_bytes: int64")
    .Input("fills: Tfills")
    .Input("other_arguments: Targuments")
    .Output("handle: variant")
        JUDGE_ATTRS SEQUENCE_ATTRS BATCH_FILE_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the good records with lists in TFRecord files.

filenames: Read one after the other.
counts: Records of each file, -1 if unknown. Another number is an error.
epochs: Passes over all files, -1 for no end. Batches cross epochs.
threads: How many compressed files are inflated at the same time.
fills: What to pad each padded component with.
)doc",
                      kJudgeDoc, kSequenceDoc));

REGISTER_OP("MillraceParseBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("placed_files: string")
    .Output("handle: variant") FEATURE_ATTRS PLACED_ATTRS OUTPUT_ATTRS
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the serialized Examples that a dataset of strings yields.

)doc",
                      kPlacedDoc, kFeatureDoc));

REGISTER_OP("MillraceParseSequenceBatchDataset")
    .Input("input_dataset: variant")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("placed_files: string")
    .Input("fills: Tfills")
    .Output("handle: variant") SEQUENCE_ATTRS PLACED_ATTRS OUTPUT_ATTRS
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the serialized records with lists of a dataset of strings.

fills: What to pad each padded component with.
)doc",
                      kPlacedDoc, kSequenceDoc));

REGISTER_OP("MillraceBucketBatchDataset")
    .Input("input_dataset: variant")
    .Input("boundaries: int64")
    .Input("bucket_sizes: int64")
    .Input("drop_remainder: bool")
    .Input("held_positions: int64")
    .Input("next_position: int64")
    .Input("placed_files: string")
    .Input("fills: Tfills")
    .Output("handle: variant") SEQUENCE_ATTRS PLACED_ATTRS OUTPUT_ATTRS
    .Attr("length_of: int")
    .Attr("positions: bool = false")
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the serialized records with lists of a dataset of strings.

The records of a batch are of similar length.

boundaries: The greatest length of each bucket but the last, ascending.
bucket_sizes: Rows of the batches of each bucket.
drop_remainder: Whether the rest of each bucket is left out at the end.
held_positions: Where the first records of the dataset are in its order.
next_position: Where the record behind these is; the others follow it.
fills: What to pad each padded component with.
length_of: The list whose length counts.
positions: Whether a last component of a batch has the positions of its records.

)doc",
                      kPlacedDoc, kSequenceDoc));

REGISTER_OP("MillraceDecodeExamples")
    .Input("serialized: string")
    .Input("placed_files: string")
    .Output("components: output_types") FEATURE_ATTRS PLACED_ATTRS OUTPUT_ATTRS
    .SetShapeFn(ComponentShapes)
    .Doc(absl::StrCat(R"doc(
Decodes a vector of serialized Examples.

)doc",
                      kPlacedDoc, kFeatureDoc));

REGISTER_OP("MillraceDecodeSequences")
    .Input("serialized: string")
    .Input("placed_files: string")
    .Input("fills: Tfills")
    .Output("components: output_types") SEQUENCE_ATTRS PLACED_ATTRS OUTPUT_ATTRS
    .SetShapeFn(ComponentShapes)
    .Doc(absl::StrCat(R"doc(
Decodes a vector of serialized records with lists.

fills: What to pad each padded component with.
)doc",
                      kPlacedDoc, kSequenceDoc));

REGISTER_OP("MillraceRecordsDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("first_file: int64")
    .Input("buffer_bytes: int64")
    .Output("handle: variant") FILE_ATTRS PLACED_ATTRS SKIPPED_ATTRS
    .SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields the records of TFRecord files.

filenames: Read one after the other. A scalar or a vector.
counts: Records of each file, -1 if unknown. Another number is an error.
first_file: The number of the first file in the places of records.
compression: How the files are stored.
placed: Whether a record carries its place.
skipped: Records that do not come, as for MillraceExampleBatchDataset. Their
  files count as first_file does.
)doc");

REGISTER_OP("MillraceJudgedRecordsDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("first_file: int64")
    .Input("buffer_bytes: int64")
    .Input("other_arguments: Targuments")
    .Output("handle: variant") JUDGE_ATTRS RECORD_ATTRS FILE_ATTRS PLACED_ATTRS
    .Attr("most: list(int) >= 1")
    .SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields the good records of TFRecord files.

filenames: Read one after the other. A scalar or a vector.
counts: Records of each file, -1 if unknown. Another number is an error.
first_file: The number of the first file in the places of records.
compression: How the files are stored.
placed: Whether a record carries its place.
most: How many elements each list may have, -1 for any number.
keys: The features that a good record has, all required unless they are optional.
kinds: How they are stored.
values: How many values a record, or an element of a list, stores of each; of
  raw ones, byte strings.
big_endian: Whether raw numbers are stored most significant byte first.
finite: Whether a value that is NaN or infinite is an error; not of lists.
examples: Whether records are Examples and not SequenceExamples.
lists: Whether they are feature lists, or features of Examples that have any
  number of elements.
optional: Which lists of Examples are empty where a record lacks them.
record_shapes: Of a batch of records, or for lists of their elements.
)doc",
                      kJudgeDoc));

REGISTER_OP("MillraceRecordLengths")
    .Input("filenames: string")
    .Input("counts: int64")
    .Output("lengths: uint32") SKIPPED_ATTRS.SetIsStateful()
    .SetShapeFn(UnknownVector)
    .Doc(R"doc(
Reads the headers of TFRecord files, and returns the data bytes of all records.

filenames: Uncompressed local files.
counts: Records of each file. Another number is an error.
lengths: File after file.
skipped: Records whose headers may be damaged, as for
  MillraceExampleBatchDataset.
)doc");

REGISTER_OP("MillraceGatherBlocksDataset")
    .Input("input_dataset: variant")
    .Input("block_rows: int64")
    .Input("start: int64")
    .Input("last: int64")
    .Input("most_buffered: int64")
    .Input("wait_ms: int64")
    .Input("missing: int64")
    .Input("other_arguments: Targuments")
    .Output("handle: variant")
    .Attr("any_order: bool = false")
    .Attr("f: func")
    .Attr("Targuments: list(type) >= 0") OUTPUT_ATTRS
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields blocks of rows, each once, whatever arrives. The last component is the
positions of the rows, a vector.

input_dataset: Yields the number of a block and its components, in any order.
  Blocks may be missing and may come twice.
block_rows: The rows of a block, of the last one at most.
start: The position from which on all rows come.
last: The number after the last block.
most_buffered: How many blocks wait for the ones before them, or come before
  them.
wait_ms: How long to wait for any block before the next one is made here.
missing: The begin and the end of each part before the start that comes, too.
any_order: Whether blocks come as they arrive. Else they come in their order.
f: Maps the number of a block to its components.
)doc");

REGISTER_OP("MillraceServiceReport")
    .Input("filenames: string")
    .Input("sizes: int64")
    .Output("report: string")
    .SetIsStateful()
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      c->set_output(0, c->Vector(3));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Says what the process is that runs this.

filenames: Files to look at.
sizes: Their sizes in bytes.
report: The machine and process, the name of the library of this operation, and
  what is wrong with the first file that is not as given; empty if all are.
)doc");

REGISTER_OP("MillraceOrderedExampleBatchDataset")
ORDERED_INPUTS.Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant")
        FEATURE_ATTRS ORDER_ATTRS OUTPUT_ATTRS SKIPPED_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the Examples in TFRecord files, in a computed order.

)doc",
                      kOrderDoc, kFeatureDoc, kSkippedDoc));

REGISTER_OP("MillraceOrderedSequenceBatchDataset")
ORDERED_INPUTS.Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("fills: Tfills")
    .Output("handle: variant")
        SEQUENCE_ATTRS ORDER_ATTRS OUTPUT_ATTRS SKIPPED_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the records with lists in TFRecord files, in a computed order.

fills: What to pad each padded component with.
)doc",
                      kOrderDoc, kSequenceDoc, kSkippedDoc));

REGISTER_OP("MillraceJudgedOrderedExampleBatchDataset")
ORDERED_INPUTS.Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("other_arguments: Targuments")
    .Output("handle: variant")
        JUDGE_ATTRS FEATURE_ATTRS ORDER_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the good Examples in TFRecord files, in a computed order.

)doc",
                      kPositionJudgeDoc, kOrderDoc, kFeatureDoc));

REGISTER_OP("MillraceJudgedOrderedSequenceBatchDataset")
ORDERED_INPUTS.Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Input("fills: Tfills")
    .Input("other_arguments: Targuments")
    .Output("handle: variant")
        JUDGE_ATTRS SEQUENCE_ATTRS ORDER_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of the good records with lists in TFRecord files, in a computed
order.

fills: What to pad each padded component with.
)doc",
                      kPositionJudgeDoc, kOrderDoc, kSequenceDoc));

REGISTER_OP("MillraceOrderedRecordsDataset")
ORDERED_INPUTS.Output("handle: variant") ORDER_ATTRS SKIPPED_ATTRS
    .SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields the records of TFRecord files in a computed order, with their places.

)doc",
                      kOrderDoc, kSkippedDoc));

REGISTER_OP("MillraceOrderedWindowsDataset")
ORDERED_INPUTS.Input("window: int64")
    .Input("group: int64")
    .Output("handle: variant") ORDER_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields the records of windows of one size, in a computed order of the windows.

An element is a vector of records with their places, and where each window
begins and ends in them, in units. Parts, positions and sizes of the order count
windows.

window: Units of a window, units from one to the next, units of a record,
  whether a shorter last window counts, and which records are read: the first
  and the one after the last, -1 for all.
group: How many records are worth an element.
)doc",
                      kOrderDoc));

REGISTER_OP("MillraceOrderedWindowBatchDataset")
ORDERED_INPUTS.Input("window: int64")
    .Input("batch_size: int64")
    .Input("drop_remainder: bool")
    .Output("handle: variant") ORDER_ATTRS FEATURE_ATTRS
    .Attr("record_types: list(type) >= 1")
    .Attr("record_shapes: list(shape) >= 1")
    .Attr("whole_records: bool") OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Yields batches of windows of one size, in a computed order of the windows.

Parts, positions and sizes of the order count windows.

window: Units of a window, units from one to the next, units of a record,
  whether a shorter last window counts, and is filled up with 0, and which
  records are read: the first and the one after the last, -1 for all.
record_shapes: The shapes of records, with one more axis in front.
whole_records: Whether a unit is a record and not a position.
)doc",
                      kOrderDoc, kFeatureDoc));

REGISTER_OP("MillraceOrderedSequencesDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("lengths: uint32")
    .Input("frames: int32")
    .Input("epoch: int64")
    .Output("handle: variant")
    .Attr(
        "ordering: {'default', 'reverse', 'sorted', 'sorted_reverse', "
        "'random', 'laplace'}")
    .Attr("bins: int = 0")
    .Attr("seed: int")
    .Attr("first: int")
    .Attr("size: int")
    .Attr("partition: int = 1")
    .Attr("shard: int = 0")
    .Attr("shards: int = 1")
    .Attr("parts: list(int) = []")
    .Attr("threads: int = 1") OUTPUT_ATTRS SKIPPED_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields the records of an epoch of sequences, in its order, with their places.

filenames: The files, which are plain local ones.
counts: Records of each file.
lengths: Data bytes of all records, file after file.
frames: How long each sequence is; empty for an order that does not ask.
epoch: From 0.
ordering: As the data are, the last first, by length, drawn, or drawn and
  sorted within bins.
bins: Of laplace.
first: The first record of the sequences.
size: How many sequences there are.
partition: Epochs that share one order, a part each.
shard: Which part of that is read.
shards: Of how many.
parts: The datasets of a mixture, from which the sequences of an epoch are drawn:
  the first record of each, its records, the number below which a drawn number
  is its, and its bins. Empty without a mixture.
threads: How many read at the same time.
skipped: Records that do not come, as for MillraceExampleBatchDataset.
)doc");

REGISTER_OP("MillraceCheckMedia")
    .Input("contents: string")
    .Output("checked: string")
    .Attr("step: string")
    .Attr("decoder: {'DecodeImage', 'DecodeWav'}")
    .Attr("dtype: {uint8, uint16, float}")
    .Attr("channels: int")
    .Attr("first: bool = false")
    .Attr("limit: int >= 0")
    .SetShapeFn(shape_inference::UnchangedShape)
    .Doc(R"doc(
Returns images or sounds as they are, or fails for those that would end the
process or take more memory than allowed when an operation decodes them.

step: The name of the step that decodes, for messages.
decoder: The operation that decodes.
dtype: Of the values that it makes.
channels: That it is asked for: of images 0, and of sounds -1, for those of the
  contents.
first: Whether it makes one frame of an animation only.
limit: Bytes that an image or a sound may take.
)doc");

REGISTER_OP("MillraceImages")
    .Input("contents: string")
    .Input("seeds: int64")
    .Output("images: float")
    .Attr("step: string")
    .Attr("channels: int >= 1")
    .Attr("limit: int >= 0")
    .Attr("scale: list(float) = []")
    .Attr("ratio: list(float) = []")
    .Attr("size: list(int) >= 2")
    .Attr("window: list(int) >= 4")
    .Attr("augment: list({'rows', 'columns', 'brightness'}) = []")
    .Attr("max_delta: float = 0")
    .Attr("change: {'', 'normalize', 'scale'} = ''")
    .Attr("first: list(float) = []")
    .Attr("second: list(float) = []")
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      shape_inference::ShapeHandle contents;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &contents));
      std::vector<int64_t> window;
      int64_t channels;
      TF_RETURN_IF_ERROR(c->GetAttr("window", &window));
      TF_RETURN_IF_ERROR(c->GetAttr("channels", &channels));
      if (window.size() != 4 || window[2] < 1 || window[3] < 1) {
        return absl::InvalidArgumentError("window must have four numbers");
      }
      c->set_output(0, c->MakeShape({c->Dim(contents, 0), window[2], window[3],
                                     channels}));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Makes a batch of images of the bytes of JPEGs, PNGs, GIFs or BMPs. Of a JPEG no
more is decoded than the part that is drawn.

The values are those of DecodeImage, StatelessSampleDistortedBoundingBox, Slice,
ResizeBilinear with half_pixel_centers, ReverseV2 and of arithmetic in float32.

seeds: A pair for each draw and image, [draws, images, 2]: for the part that is
  taken, if scale is given, and for each of augment.
step: The name of the step that decodes, for messages.
channels: Of the images.
limit: Bytes that a decoded image may take.
scale: The least and the greatest share of an image that is taken. Empty: the
  image as a whole.
ratio: The least and the greatest ratio of width and height of the part.
size: To which the part is resized, height and width.
window: What is taken of that: top, left, height and width.
augment: What is drawn, in order: whether the rows or the columns are reversed,
  by even chances, and for brightness a number that is added to all values.
max_delta: The largest of these numbers; the least one is its negative.
change: What is computed of each value x: '', 'normalize', (x - first) / second,
  or 'scale', x * first + second.
)doc");

REGISTER_OP("MillraceWords")
    .Input("texts: string")
    .Input("words: string")
    .Output("numbers: int64")
    .Output("row_splits: int64")
    .Attr("lower: bool = false")
    .Attr("sep: string = ''")
    .Attr("most: int >= -1 = -1")
    .Attr("start: int >= 0 = 0")
    .Attr("others: int >= 1 = 1")
    .SetShapeFn([](shape_inference::InferenceContext* c) {
      shape_inference::ShapeHandle texts, words;
      shape_inference::DimensionHandle rows;
      TF_RETURN_IF_ERROR(c->WithRank(c->input(0), 1, &texts));
      TF_RETURN_IF_ERROR(c->WithRank(c->input(1), 1, &words));
      TF_RETURN_IF_ERROR(c->Add(c->Dim(texts, 0), 1, &rows));
      c->set_output(0, c->UnknownShapeOfRank(1));
      c->set_output(1, c->Vector(rows));
      return absl::OkStatus();
    })
    .Doc(R"doc(
Splits texts into words, and returns the numbers of these words in a vocabulary,
as rows that stand one after another.

The values are those of StringLower, StringSplitV2, LookupTableFindV2 and
StringToHashBucketFast.

words: The vocabulary. It becomes a table with the first batch.
lower: Whether the letters A to Z are made small before.
sep: What stands between words. Empty: any white space, and then no word is.
most: How many words of a text are taken, the first ones. -1: all.
start: The number of the first word of the vocabulary.
others: How many numbers, after the vocabulary, stand for words that
  are not in it. The hash of a word decides which one.
row_splits: Where each text begins in the numbers, and where the last
  one ends.
)doc");

REGISTER_OP("MillraceTFRecordReader")
    .Output("reader_handle: resource") FILE_ATTRS.Attr("container: string = ''")
    .Attr("shared_name: string = ''")
    .SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Reads TFRecord files whose names come from a queue.

compression: How the files are stored.
)doc");

REGISTER_OP("MillraceReaderRead")
    .Input("reader_handle: resource")
    .Input("queue_handle: resource")
    .Output("keys: string")
    .Output("values: string")
    .SetIsStateful()
    .SetShapeFn(TwoScalars)
    .Doc(R"doc(
Reads a record of a MillraceTFRecordReader.

queue_handle: Has the names of the files.
keys: "file:offset".
)doc");

REGISTER_OP("MillraceReaderReadUpTo")
    .Input("reader_handle: resource")
    .Input("queue_handle: resource")
    .Input("num_records: int64")
    .Output("keys: string")
    .Output("values: string")
    .SetIsStateful()
    .SetShapeFn(TwoVectors)
    .Doc(R"doc(
Reads up to num_records records of one file of a MillraceTFRecordReader.

queue_handle: Has the names of the files.
keys: "file:offset".
)doc");

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
    .Attr("record_types: list(type) >= 1")
    .Attr("record_shapes: list(shape) >= 1")
    .Attr("keep_tail: bool")
    .Attr("pad_tail: bool = false")
    .Attr("whole_records: bool")
    .Attr("joined: bool = false") FILE_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(R"doc(
Yields windows of the sequences in files of Examples.

The records of a file are joined along their first axis.

filenames: Read one after the other.

counts: Records of each file. Another number is an error.
window: Smallest and largest size and the stride, 0 for windows one behind the
  other.
seed: Of the sizes, which are drawn by window, epoch and file.
first: The numbers of the first epoch and file in those draws.
epochs: Passes over all files, -1 for no end.
batch_size: Windows in a batch, which have one size unless they are joined; 0 for
  single windows.
threads: Read the records of one element, the caller's among them.
record_shapes: The shapes of records, with one more axis in front.
keep_tail: Whether a last window may be shorter, but not than the smallest.
pad_tail: Whether a last window of at least one position is filled up with 0.
whole_records: Whether sizes count records and not positions.
joined: Whether the windows of a batch lie end to end. A last component is where
  each one begins and the last one ends, as sizes count.
)doc");

// The attributes for cutting rows from columns, and for batches of rows.
#define CHUNK_ATTRS                                                            \
  .Attr("names: list(string) >= 1")                                            \
      .Attr("ragged: list(bool) >= 1")                                         \
      .Attr("sequence: list(bool) >= 1")                                       \
      .Attr("left: list(int) >= 1")                                            \
      .Attr("right: list(int) >= 1")                                           \
      .Attr("fixed: list(int) >= 1")                                           \
      .Attr(                                                                   \
          "parts: list({'row', 'joined', 'splits', 'size', 'length', 'mask', " \
          "'elements', 'start', 'end', 'place'}) >= 1")                        \
      .Attr("of: list(int) >= 1")                                              \
      .Attr("each: list(int) >= 1")                                            \
      .Attr("Tfills: list(type) >= 1")                                         \
      .Attr("aligned: bool")                                                   \
      .Attr("keep_tail: bool")

constexpr char kChunkDoc[] = R"doc(rules: Frames of a chunk, 0 for whole
  sequences, and from the start of a chunk to the next; frames and rows of a
  batch, 0 for any number of rows.
fills: What to pad each column with.
names: The columns, for messages.
ragged: Which of them differ in length from record to record.
sequence: Which of them are cut.
left: Frames of context before each row.
right: Frames of context after each row.
fixed: The frames that rows are padded to, -1 for the longest of the batch.
parts: What each component of a batch is.
of: Its column; 0 where it has none.
each: How many values a frame has, for the part elements.
aligned: Whether the sequences of a record must have one length.
keep_tail: Whether chunks may be shorter at the end of a sequence.
)doc";

REGISTER_OP("MillraceChunkBatchDataset")
    .Input("input_dataset: variant")
    .Input("rules: int64")
    .Input("files: string")
    .Input("fills: Tfills")
    .Output("handle: variant") CHUNK_ATTRS OUTPUT_ATTRS
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Cuts sequences into rows and batches the rows by a budget of frames.

input_dataset: Yields groups of records: for each column the values of all
  records, and of a ragged one where each record begins in them; then the
  places of the records.
files: The names of the files that places number.
)doc",
                      kChunkDoc));

REGISTER_OP("MillraceChunkRecordsDataset")
    .Input("filenames: string")
    .Input("counts: int64")
    .Input("rules: int64")
    .Input("buffer_bytes: int64")
    .Input("threads: int64")
    .Input("fills: Tfills")
    .Output("handle: variant") FEATURE_ATTRS.Attr("examples: bool")
    .Attr("lists: list(bool) >= 1")
    .Attr("optional: list(bool) >= 1")
    .Attr("record_types: list(type) >= 1")
    .Attr("record_shapes: list(shape) >= 1")
    .Attr("features: list(int) >= 1") CHUNK_ATTRS OUTPUT_ATTRS.SetIsStateful()
    .SetShapeFn(shape_inference::ScalarShape)
    .Doc(absl::StrCat(R"doc(
Reads sequences, cuts them into rows and batches the rows by a budget of frames.

filenames: Uncompressed local files, read one after the other.

counts: Records of each file, -1 if not known. Another number is an error.
buffer_bytes: To read at a time of a record that is out of order.
threads: Read and decode records, the caller's among them.
lists: Which features have any number of elements.
features: The feature that each column is.
)doc",
                      kChunkDoc));

#undef CHUNK_ATTRS
#undef OUTPUT_ATTRS
#undef PLACED_ATTRS
#undef SKIPPED_ATTRS
#undef FILE_ATTRS
#undef SEQUENCE_ATTRS
#undef FEATURE_ATTRS

}  // namespace
}  // namespace millrace
