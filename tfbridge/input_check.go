package tfbridge

// #include "input_check.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"unsafe"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/argcheck"
	"millrace/internal/base/bytecheck"
	"millrace/tfrecord/example"
)

// # Checking the bytes that a graph parses
//
// The question. A model that takes serialized Examples passes the bytes of a request to
// TensorFlow's parsers, and some records end the process there; see package example.
// The same holds for serialized tensors and images; see package bytecheck. Where can
// they be stopped?
//
//   - Not at the inputs of a signature. Bytes may be decoded, split or joined in the
//     graph before they are parsed, or be read from a file.
//   - Not after the parser: that is too late.
//
// So our own operation stands in front of each parser, in graphs and in the functions
// that they call:
//
//	serialized ──> MillraceCheckExamples ──> ParseExampleV2
//	keys ───────────────^
//
//	serialized ──> MillraceCheckBytes ──> ParseTensor
//
// It passes on the records unchanged, without a copy, or fails the run with
// INVALID_ARGUMENT. Package graph/internal/inputcheck inserts it into models. The kernel
// calls Go, so that the checks exist only once and need no C++ build.

// OpCheckExamples is the type of the operation that checks serialized Examples: records, keys
// -> records.
const OpCheckExamples = "MillraceCheckExamples"

// OpCheckBytes is the type of the operation that checks other bytes: strings ->
// strings. It has the same kernel and attributes as [OpCheckExamples].
const OpCheckBytes = "MillraceCheckBytes"

// CheckSpec describes the parser that an operation of type [OpCheckExamples] or [OpCheckBytes]
// protects.
type CheckSpec struct {
	Parser  string          // the name of the operation that parses
	Request example.Request // the keys of its features come from the inputs "keys"
	Bytes   *bytecheck.Spec `json:",omitempty"` // set for OpCheckBytes

	RowBytes int64 `json:",omitempty"` // memory of the dense features of an Example, even of an empty one
	Limit    int64 `json:",omitempty"` // limit of the memory of all Examples; see bytecheck.Spec

	Arguments *ArgumentsSpec `json:",omitempty"` // set for OpCheckArguments
}

// Attr returns the attribute "check" of the operation.
func (s CheckSpec) Attr() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return nil // JSON can encode every CheckSpec; an empty attribute is refused
	}
	return text
}

// RefusedBytes is the error of a run that failed because an operation of TensorFlow
// must not parse an Example or other bytes. errors.As finds it in the run's error.
type RefusedBytes struct {
	Parser  string // the name of the operation that parses
	Element int64  // the index of the element among those to parse
	Err     error  // the reason

	size int
	hash uint64
}

// Error returns the element and the reason.
func (e *RefusedBytes) Error() string {
	return fmt.Sprintf("element %d of what operation %s parses: %v", e.Element, millrace.Quote(e.Parser), e.Err)
}

// Unwrap returns the reason.
func (e *RefusedBytes) Unwrap() error { return e.Err }

// IsRecord reports whether a record is the refused element.
func (e *RefusedBytes) IsRecord(record string) bool {
	return len(record) == e.size && maphash.String(hashSeed, record) == e.hash
}

// hashSeed is the seed of the hashes in RefusedBytes. It keeps a hash instead of the
// bytes, because errors are remembered for a while.
var hashSeed = maphash.MakeSeed()

// registerChecks registers the operations. Open calls it. Graphs that contain one of
// them cannot be made before.
func registerChecks() error {
	if st := C.mr_register_checks(); st != nil {
		defer C.TF_DeleteStatus(st)
		return statusError("TF_RegisterOpDefinition", st)
	}
	return nil
}

// checks holds the checks of kernels by their numbers.
var checks sync.Map

// kernelCheck is the check of a kernel, which may run concurrently.
type kernelCheck struct {
	spec CheckSpec
	free sync.Pool // holds *example.Checker values
}

// mrNewCheck makes the check that an attribute describes and returns its number, or 0
// for an invalid attribute. largest becomes the largest integer scalar that meets the
// check, if that is all it requires, and else the smallest int64. dims becomes the largest number
// of dimensions that meets it, if that is all it requires, and else -1.
//
//export mrNewCheck
func mrNewCheck(spec *C.char, n C.size_t, largest *C.int64_t, dims *C.int) C.int64_t {
	k := &kernelCheck{}
	*largest, *dims = math.MinInt64, -1
	if err := json.Unmarshal([]byte(C.GoStringN(spec, C.int(n))), &k.spec); err != nil {
		return 0
	}
	id := lastID.Add(1)
	if k.spec.Arguments != nil {
		check := newArgumentsCheck(*k.spec.Arguments)
		if check == nil {
			return 0
		}
		checks.Store(id, check)
		*largest, *dims = C.int64_t(check.largest()), C.int(check.mostDims())
		return C.int64_t(id)
	}
	k.free.New = func() any { return example.NewChecker(k.spec.Request) }
	checks.Store(id, k)
	return C.int64_t(id)
}

//export mrDropCheck
func mrDropCheck(id C.int64_t) { checks.Delete(int64(id)) }

// mrCheckExamples checks records. It returns the reason why they are refused, which the caller
// frees, or nil.
//
//export mrCheckExamples
func mrCheckExamples(id C.int64_t, records *C.mr_view, n C.int64_t, keys *C.mr_view, nkeys C.int64_t) (refused *C.char) {
	fail := func(err error) *C.char {
		_, text := remember(err)
		return C.CString(text)
	}
	defer func() {
		if r := recover(); r != nil {
			refused = fail(panicked(OpCheckExamples, r))
		}
	}()
	k, ok := checks.Load(int64(id))
	if !ok {
		return fail(millrace.Errorf(millrace.ErrInternal, "no check %d", int64(id)))
	}
	if err := k.(*kernelCheck).check(unsafe.Slice(records, int(n)), unsafe.Slice(keys, int(nkeys))); err != nil {
		return fail(err)
	}
	return nil
}

// check checks records.
func (k *kernelCheck) check(records, keys []C.mr_view) error {
	if k.spec.Bytes != nil {
		return k.checkBytes(records)
	}
	j := k.free.Get().(*example.Checker)
	defer k.free.Put(j)
	if err := k.setKeys(j, keys); err != nil {
		return err
	}
	if err := k.checkRows(records); err != nil {
		return k.refused(0, nil, err)
	}
	for i, v := range records {
		record := viewOf(v)
		if err := j.Check(record); err != nil {
			return k.refused(i, record, err)
		}
	}
	return nil
}

// checkRows compares the memory of the dense features of records with the limit. The
// features of an empty record are as large as any other's, because of their defaults.
func (k *kernelCheck) checkRows(records []C.mr_view) error {
	var bytes int64
	for _, v := range records {
		bytes += int64(v.len)
	}
	return bytecheck.Rows(int64(len(records)), k.spec.RowBytes, bytes, k.spec.Limit)
}

// checkBytes checks bytes that are not Examples.
func (k *kernelCheck) checkBytes(elements []C.mr_view) error {
	all := make([][]byte, len(elements))
	for i, v := range elements {
		all[i] = viewOf(v)
	}
	at, err := k.spec.Bytes.Check(all)
	if err == nil {
		return nil
	}
	var element []byte
	if at < len(all) {
		element = all[at]
	}
	return k.refused(at, element, err)
}

// refused returns the error of a run with an element that must not be parsed.
func (k *kernelCheck) refused(at int, element []byte, err error) error {
	return &RefusedBytes{
		Parser: k.spec.Parser, Element: int64(at), Err: err,
		size: len(element), hash: maphash.Bytes(hashSeed, element),
	}
}

// viewOf returns the bytes of an element, which are in TensorFlow's memory.
func viewOf(v C.mr_view) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v.data)), int(v.len))
}

// setKeys passes the keys of the features to a check. The keys are in TensorFlow's
// memory.
func (k *kernelCheck) setKeys(j *example.Checker, keys []C.mr_view) error {
	if k.spec.Request.Sequence || len(k.spec.Request.Features) == 0 {
		return nil // the check does not need them
	}
	if len(keys) != len(k.spec.Request.Features) {
		return millrace.Errorf(millrace.ErrModel, "operation %s parses %d features and has %d keys",
			millrace.Quote(k.spec.Parser), len(k.spec.Request.Features), len(keys))
	}
	for i, v := range keys {
		j.SetKey(i, unsafe.String((*byte)(unsafe.Pointer(v.data)), int(v.len)))
	}
	return nil
}

// Some of TensorFlow's kernels end the process for arguments with an unexpected shape,
// value or handle. In front of each stands an operation that checks the rules of
// package argcheck and passes on one of the arguments:
//
//	num_elements ──> MillraceCheckArguments ──> TensorListReserve
//	other arguments ───────^                        ^
//	other arguments ────────────────────────────────┘
//
// Package graph/internal/inputcheck inserts it into models where the graph alone does not
// prove the rules.

// OpCheckArguments is the type of the operation that checks the arguments of another.
const OpCheckArguments = "MillraceCheckArguments"

// OpHideShape is the type of an operation that passes a tensor on, and hides its shape from
// TensorFlow's optimizer: some of its rewrites end the process for a shape that the
// operation after it would refuse.
const OpHideShape = "MillraceHideShape"

// ArgumentsSpec describes what an operation of type [OpCheckArguments] checks.
type ArgumentsSpec struct {
	Op, Node string   // the operation that takes the arguments, and its node
	Inputs   []int    // indices of the arguments among its inputs
	Rules    []string // rules of package argcheck
}

// argumentsCheck is the check of a kernel.
type argumentsCheck struct {
	spec  ArgumentsSpec
	rules []argcheck.Rule
	at    map[int]int // position of an input among the arguments
}

// newArgumentsCheck makes the check for a description, nil if it is invalid.
func newArgumentsCheck(spec ArgumentsSpec) *argumentsCheck {
	k := &argumentsCheck{spec: spec, at: map[int]int{}}
	for at, i := range spec.Inputs {
		k.at[i] = at
	}
	for _, text := range spec.Rules {
		r, err := argcheck.Parse(text)
		if err != nil {
			return nil
		}
		k.rules = append(k.rules, r)
	}
	return k
}

// largest returns the largest integer scalar that meets all rules, if they are about the
// only argument. It returns the smallest int64 for other rules.
func (k *argumentsCheck) largest() int64 {
	limit := int64(math.MaxInt64)
	for _, r := range k.rules {
		input, largest, ok := r.Scalar()
		if !ok || len(k.spec.Inputs) != 1 || input != k.spec.Inputs[0] {
			return math.MinInt64
		}
		limit = min(limit, largest)
	}
	return limit
}

// mostDims returns the largest number of dimensions of the only argument that meets all
// rules, -1 if they require anything else.
func (k *argumentsCheck) mostDims() int {
	most := math.MaxInt32
	for _, r := range k.rules {
		input, dims, ok := r.AtMost()
		if !ok || len(k.spec.Inputs) != 1 || input != k.spec.Inputs[0] {
			return -1
		}
		most = min(most, dims)
	}
	return most
}

// mrCheckArguments checks arguments. It returns the fault, which the caller frees, or
// nil.
//
//export mrCheckArguments
func mrCheckArguments(id C.int64_t, arguments *C.mr_argument, n C.int) (refused *C.char) {
	fail := func(err error) *C.char {
		_, text := remember(err)
		return C.CString(text)
	}
	defer func() {
		if r := recover(); r != nil {
			refused = fail(panicked(OpCheckArguments, r))
		}
	}()
	k, ok := checks.Load(int64(id))
	if !ok {
		return fail(millrace.Errorf(millrace.ErrInternal, "no check %d", int64(id)))
	}
	if err := k.(*argumentsCheck).check(unsafe.Slice(arguments, int(n))); err != nil {
		return fail(err)
	}
	return nil
}

// check checks arguments by all rules.
func (k *argumentsCheck) check(arguments []C.mr_argument) error {
	arg := func(i int) argcheck.Arg { return argumentOf(&arguments[k.at[i]]) }
	for _, r := range k.rules {
		err := r.Check(arg)
		if err != nil {
			return millrace.Errorf(millrace.ErrSchema, "operation %s (%s): %w", millrace.Quote(k.spec.Node), k.spec.Op, err)
		}
	}
	return nil
}

// argumentOf returns an argument, whose bytes are in TensorFlow's memory.
func argumentOf(a *C.mr_argument) argcheck.Arg {
	shape := make([]int64, int(a.rank))
	for i := range shape {
		shape[i] = int64(a.dims[i])
	}
	arg := argcheck.Arg{DType: dtype.DataType(a.dtype), Shape: shape, Bytes: int64(a.bytes), Longest: int64(a.longest)}
	if a.len > 0 {
		arg.Data = unsafe.Slice((*byte)(a.data), int(a.len))
	}
	return arg
}
