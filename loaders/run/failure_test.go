package run

import (
	"testing"

	"millrace"
	"millrace/tfbridge"
)

// Limits of the operating system are i/o errors, though TensorFlow says that
// resources are exhausted, as it does of memory (C47).
func TestLimitsOfTheSystem(t *testing.T) {
	tests := []struct {
		msg  string
		want millrace.Class
	}{
		{"a.tfrecords; Too many open files", millrace.ErrIO},
		{"b; No space left on device", millrace.ErrIO},
		{"OOM when allocating tensor with shape[1099511627776]", millrace.ErrLimit},
	}
	for _, test := range tests {
		failed := &tfbridge.Error{Func: "TF_SessionRun", Code: tfbridge.ResourceExhausted, Msg: test.msg}
		if got := codeClass(failed, false); got != test.want {
			t.Errorf("codeClass(%q) = %q, want %q", test.msg, got, test.want)
		}
	}
}
