package preflight

import (
	"slices"
	"strconv"
	"strings"

	"millrace"
)

// checkedBools, checkedInts and checkedSizes are variables with one value. TensorFlow ends the
// process, as it opens or in the first operation that asks, if it cannot parse the value. Other
// variables that it cannot parse it ignores. cmd/millrace.TestHostileVariables tries all that
// TensorFlow's libraries name.
var (
	checkedBools = []string{
		"TF_DETERMINISTIC_OPS", "TF_DETERMINISTIC_ORDER", "TF_ENABLE_MAXPOOL_NANPROP", "TF_MKL_OPTIMIZE_PRIMITIVE_MEMUSE",
		"TF_ONEDNN_ASSUME_FROZEN_WEIGHTS", "TF_ONEDNN_THREADPOOL_USE_CALLER_THREAD", "TF_ONEDNN_USE_SYSTEM_ALLOCATOR",
	}
	checkedInts  = []string{"GRPC_MAX_RETRIES"}
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
