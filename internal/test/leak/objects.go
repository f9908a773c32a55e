package leak

import (
	"runtime"
	"testing"
	"time"
)

// Objects counts the C objects of the process and returns a function that fails
// the test if there are more when it is called. live counts them. Unlike [Check] it
// looks at nothing else, and a test may call what it returns in its midst.
//
// It has patience: a thread of TensorFlow that reads ahead may hold the arguments
// of a callback, or a value that was fed, a moment longer than the test.
func Objects(t testing.TB, live func() int64) (check func()) {
	t.Helper()
	before := live()
	return func() {
		t.Helper()
		for end := time.Now().Add(patience); ; {
			more := live() - before
			if more <= 0 {
				return
			}
			if time.Now().After(end) {
				t.Errorf("%d C objects more than before", more)
				return
			}
			runtime.Gosched()
		}
	}
}
