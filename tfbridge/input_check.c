#include "input_check.h"
#include "denormals.h"

#include "_cgo_export.h"

enum { INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8, INT32 = 3, STRING = 7, INT64 = 9 };

// The records are passed on as they are, so the output has their shape.
static void infer_same(TF_ShapeInferenceContext *ctx, TF_Status *st) {
  TF_ShapeHandle *shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(ctx, 0, shape, st);
  if (TF_GetCode(st) == 0) TF_ShapeInferenceContextSetOutput(ctx, 0, shape, st);
  TF_DeleteShapeHandle(shape);
}

// check_kernel is the state of a kernel: the number of a check in Go, the largest
// integer scalar that passes without asking Go, or INT64_MIN, and the number of dimensions
// that passes, or -1. The body of a loop runs such
// a check in each iteration, and a call into Go takes longer than most of its operations.
typedef struct check_kernel {
  int64_t check;
  int64_t largest;
  int dims;
} check_kernel;

static void *check_create(TF_OpKernelConstruction *ctx) {
  TF_Status *st = TF_NewStatus();
  check_kernel *kernel = malloc(sizeof *kernel);
  int32_t items = 0, size = 0;
  char *spec = NULL;
  TF_OpKernelConstruction_GetAttrSize(ctx, "check", &items, &size, st);
  if (TF_GetCode(st) == 0 && (!kernel || !(spec = malloc((size_t)size + 1)))) TF_SetStatus(st, RESOURCE_EXHAUSTED, "no memory");
  if (TF_GetCode(st) == 0) TF_OpKernelConstruction_GetAttrString(ctx, "check", spec, (size_t)size, st);
  uint64_t mode = mr_keep_denormals();
  if (TF_GetCode(st) == 0 && (kernel->check = mrNewCheck(spec, (size_t)size, &kernel->largest, &kernel->dims)) == 0) TF_SetStatus(st, INVALID_ARGUMENT, "no description of a check");
  mr_set_float_mode(mode);
  if (TF_GetCode(st) != 0) {
    TF_OpKernelConstruction_Failure(ctx, st);
    free(kernel);
    kernel = NULL;
  }
  free(spec);
  TF_DeleteStatus(st);
  return kernel;
}

static void check_delete(void *kernel) {
  uint64_t mode = mr_keep_denormals();
  if (kernel) mrDropCheck(((check_kernel *)kernel)->check);
  mr_set_float_mode(mode);
  free(kernel);
}

// views_of returns the elements of n tensors of strings, one tensor after the
// other, and how many they are. It returns NULL if there is no memory.
static mr_view *views_of(TF_Tensor **tensors, int n, int64_t *elements) {
  *elements = 0;
  for (int i = 0; i < n; i++) *elements += TF_TensorElementCount(tensors[i]);
  mr_view *views = malloc(((size_t)*elements + 1) * sizeof *views);
  mr_view *to = views;
  for (int i = 0; views && i < n; i++) {
    const TF_TString *from = TF_TensorData(tensors[i]);
    for (int64_t k = TF_TensorElementCount(tensors[i]); k > 0; k--, from++, to++) {
      to->data = TF_StringGetDataPointer(from);
      to->len = TF_StringGetSize(from);
    }
  }
  return views;
}

// check_inputs passes the records on or sets the reason why not.
static void check_inputs(int64_t check, TF_OpKernelContext *ctx, TF_Tensor **in, int n, TF_Status *st) {
  int64_t records = 0, keys = 0;
  mr_view *record = views_of(in, 1, &records);
  mr_view *key = views_of(in + 1, n - 1, &keys);
  char *refused = NULL;
  uint64_t mode = mr_keep_denormals();
  if (!record || !key) {
    TF_SetStatus(st, RESOURCE_EXHAUSTED, "no memory");
  } else if ((refused = mrCheckExamples(check, record, records, key, keys))) {
    TF_SetStatus(st, INVALID_ARGUMENT, refused);
  } else {
    TF_SetOutput(ctx, 0, in[0], st);
  }
  mr_set_float_mode(mode);
  free(refused);
  free(record);
  free(key);
}

static void check_compute(void *kernel, TF_OpKernelContext *ctx) {
  TF_Status *st = TF_NewStatus();
  int n = TF_NumInputs(ctx);
  TF_Tensor **in = calloc((size_t)n + 1, sizeof *in);
  if (!in || !kernel) TF_SetStatus(st, RESOURCE_EXHAUSTED, "no memory");
  for (int i = 0; i < n && TF_GetCode(st) == 0; i++) TF_GetInput(ctx, i, &in[i], st);
  if (TF_GetCode(st) == 0) check_inputs(((check_kernel *)kernel)->check, ctx, in, n, st);
  if (TF_GetCode(st) != 0) TF_OpKernelContext_Failure(ctx, st);
  for (int i = 0; in && i < n; i++) {
    if (in[i]) TF_DeleteTensor(in[i]);
  }
  free(in);
  TF_DeleteStatus(st);
}

static void register_op(const char *name, TF_Status *st) {
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, "check: string");
  TF_OpDefinitionBuilderAddAttr(b, "N: int >= 0");
  TF_OpDefinitionBuilderAddInput(b, "serialized: string");
  TF_OpDefinitionBuilderAddInput(b, "keys: N * string");
  TF_OpDefinitionBuilderAddOutput(b, "checked: string");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, infer_same);
  TF_RegisterOpDefinition(b, st);
  if (TF_GetCode(st) == 0) {
    TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", check_create, check_compute, check_delete), st);
  }
}

// describe fills in what Go reads of a tensor.
static void describe(const TF_Tensor *t, mr_argument *a) {
  a->dtype = TF_TensorType(t);
  a->rank = TF_NumDims(t);
  for (int i = 0; i < a->rank && i < MR_MAX_RANK; i++) a->dims[i] = TF_Dim(t, i);
  a->data = TF_TensorData(t);
  a->len = TF_TensorByteSize(t);
  if (a->dtype != STRING) return;
  const TF_TString *strings = a->data;
  for (int64_t i = 0, n = TF_TensorElementCount(t); i < n; i++) {
    int64_t length = (int64_t)TF_StringGetSize(&strings[i]);
    a->bytes += length;
    if (length > a->longest) a->longest = length;
  }
}

// passes_alone passes the only argument on if it needs no call into Go: a small integer, or a tensor of few dimensions.
static int passes_alone(const check_kernel *kernel, TF_OpKernelContext *ctx, TF_Status *st) {
  if (!kernel || (kernel->largest == INT64_MIN && kernel->dims < 0) || TF_NumInputs(ctx) != 1) return 0;
  TF_Tensor *t = NULL;
  TF_GetInput(ctx, 0, &t, st);
  if (TF_GetCode(st) != 0) return 0;
  int small = TF_NumDims(t) <= kernel->dims;
  if (TF_NumDims(t) == 0 && TF_TensorType(t) == INT32) small = *(int32_t *)TF_TensorData(t) <= kernel->largest;
  if (TF_NumDims(t) == 0 && TF_TensorType(t) == INT64) small = *(int64_t *)TF_TensorData(t) <= kernel->largest;
  if (small) TF_SetOutput(ctx, 0, t, st);
  TF_DeleteTensor(t);
  return small && TF_GetCode(st) == 0;
}

static void arguments_compute(void *kernel, TF_OpKernelContext *ctx) {
  TF_Status *st = TF_NewStatus();
  if (passes_alone(kernel, ctx, st)) {
    TF_DeleteStatus(st);
    return;
  }
  TF_SetStatus(st, 0, "");
  int n = TF_NumInputs(ctx);
  TF_Tensor **in = calloc((size_t)n + 1, sizeof *in);
  mr_argument *arguments = calloc((size_t)n + 1, sizeof *arguments);
  char *refused = NULL;
  if (!in || !arguments || !kernel) TF_SetStatus(st, RESOURCE_EXHAUSTED, "no memory");
  for (int i = 0; i < n && TF_GetCode(st) == 0; i++) {
    TF_GetInput(ctx, i, &in[i], st);
    if (TF_GetCode(st) == 0) describe(in[i], &arguments[i]);
  }
  uint64_t mode = mr_keep_denormals();
  if (TF_GetCode(st) == 0 && (refused = mrCheckArguments(((check_kernel *)kernel)->check, arguments, n))) TF_SetStatus(st, INVALID_ARGUMENT, refused);
  mr_set_float_mode(mode);
  if (TF_GetCode(st) == 0) TF_SetOutput(ctx, 0, in[0], st);
  if (TF_GetCode(st) != 0) TF_OpKernelContext_Failure(ctx, st);
  for (int i = 0; in && i < n; i++) {
    if (in[i]) TF_DeleteTensor(in[i]);
  }
  free(refused);
  free(arguments);
  free(in);
  TF_DeleteStatus(st);
}

static void register_arguments(TF_Status *st) {
  static const char name[] = "MillraceCheckArguments";
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, "check: string");
  TF_OpDefinitionBuilderAddAttr(b, "T: type");
  TF_OpDefinitionBuilderAddAttr(b, "Tothers: list(type) >= 0");
  TF_OpDefinitionBuilderAddInput(b, "argument: T");
  TF_OpDefinitionBuilderAddInput(b, "others: Tothers");
  TF_OpDefinitionBuilderAddOutput(b, "checked: T");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, infer_same);
  TF_RegisterOpDefinition(b, st);
  if (TF_GetCode(st) == 0) {
    TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", check_create, arguments_compute, check_delete), st);
  }
}

// The shape of what it passes on is unknown until the run.
static void infer_nothing(TF_ShapeInferenceContext *ctx, TF_Status *st) { TF_ShapeInferenceContextSetUnknownShape(ctx, st); }

// hide_compute looks at no byte, which may be in a GPU's memory.
static void hide_compute(void *kernel, TF_OpKernelContext *ctx) {
  (void)kernel;
  TF_Status *st = TF_NewStatus();
  TF_Tensor *in = NULL;
  TF_GetInput(ctx, 0, &in, st);
  if (TF_GetCode(st) == 0) TF_SetOutput(ctx, 0, in, st);
  if (TF_GetCode(st) != 0) TF_OpKernelContext_Failure(ctx, st);
  if (in) TF_DeleteTensor(in);
  TF_DeleteStatus(st);
}

static void register_hide(TF_Status *st) {
  static const char name[] = "MillraceHideShape";
  TF_OpDefinitionBuilder *b = TF_NewOpDefinitionBuilder(name);
  TF_OpDefinitionBuilderAddAttr(b, "T: type");
  TF_OpDefinitionBuilderAddInput(b, "tensor: T");
  TF_OpDefinitionBuilderAddOutput(b, "same: T");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(b, infer_nothing);
  TF_RegisterOpDefinition(b, st);
  static const char *const devices[] = {"CPU", "GPU"};
  for (int i = 0; i < 2 && TF_GetCode(st) == 0; i++) {
    TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, devices[i], NULL, hide_compute, NULL), st);
  }
}

TF_Status *mr_register_checks(void) {
  TF_Status *st = TF_NewStatus();
  register_op("MillraceCheckExamples", st);
  if (TF_GetCode(st) == 0) register_op("MillraceCheckBytes", st);
  if (TF_GetCode(st) == 0) register_arguments(st);
  if (TF_GetCode(st) == 0) register_hide(st);
  if (TF_GetCode(st) != 0) return st;
  TF_DeleteStatus(st);
  return NULL;
}
