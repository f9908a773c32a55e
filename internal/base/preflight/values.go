package preflight

import (
	"slices"
	"strconv"
	"strings"

	"millrace"
)

// checkedBools, checkedInts and checkedSizes are variables with one value. TensorFlow ends the
// process, as it opens or in the first operation that asks, if it cannot parse the value. Other
// variables that it cannot parse it ignores. The checks name them in TensorFlow's libraries,
// except TF_DETERMINISTIC_OPS, TF_DETERMINISTIC_ORDER and TF_MKL_ALLOC_MAX_BYTES.
// cmd/millrace.TestHostileVariables tries all variables that the libraries name.
var (
	checkedBools = []string{
		"DTENSOR_GPU_USE_NCCL_COMMUNICATION", "DTENSOR_USE_ALL_TO_ALL_RELAYOUT",
		"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_EMULATE_FP16", "TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_IGNORE_PERFORMANCE",
		"TF_AUTO_MIXED_PRECISION_GRAPH_REWRITE_SIMULATE_GPU",
		"TF_DETERMINISTIC_OPS", "TF_DETERMINISTIC_ORDER",
		"TF_ENABLE_ASYNC_WAIT_FOR_REMOTE_FUNCTION", "TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE", "TF_ENABLE_MAXPOOL_NANPROP", "TF_ENABLE_ONEDNN_SPMM",
		"TF_MKL_OPTIMIZE_PRIMITIVE_MEMUSE",
		"TF_ONEDNN_ASSUME_FROZEN_WEIGHTS", "TF_ONEDNN_THREADPOOL_USE_CALLER_THREAD", "TF_ONEDNN_USE_SYSTEM_ALLOCATOR",
		"TF_REMOTE_HANDLE_SKIP_WAIT_FOR_READY", "TF_SEND_AS_PROTOS_WHEN_POSSIBLE", "TF_USE_CUBLASLT",
	}
	checkedInts  = []string{"GRPC_MAX_RETRIES", "TF_PER_DEVICE_MEMORY_LIMIT_MB", "TF_PFLR_PARALLEL_INSTANTIATE_THRESHOLD"}
	checkedSizes = []string{"TF_MKL_ALLOC_MAX_BYTES"}
)

// checkValues checks the variables with one value.
func checkValues(lookup func(string) (string, bool)) error {
	isBool := func(s string) bool { return slices.Contains([]string{"0", "1", "false", "true"}, strings.ToLower(s)) }
	isInt := func(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err == nil }
	isSize := func(s string) bool { _, err := strconv.ParseUint(s, 10, 64); return err == nil }
	for _, kind := range []struct {
		names []string
		fits  func(string) bool
		want  string
	}{
		{checkedBools, isBool, "0, 1, false or true"},
		{checkedInts, isInt, "an integer"},
		{checkedSizes, isSize, "a number of bytes"},
	} {
		for _, name := range kind.names {
			value, set := lookup(name)
			if set && !kind.fits(value) {
				return problem(name, "it is %s, want %s", millrace.QuoteData([]byte(value)), kind.want)
			}
		}
	}
	return nil
}
