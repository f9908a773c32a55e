// Package tfmain is the TestMain of test packages that use TensorFlow:
//
//	func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }
//
// It opens the runtime, skips loudly or fails when there is none, and fails the
// package if a test leaves C objects open. Package tfbridge cannot import it:
// the tests of tfbridge call [testruntime.Main] themselves.
package tfmain

import (
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// Run runs the tests of a package whose tests all need the runtime, and
// returns the exit code for os.Exit.
func Run(m *testing.M) int { return run(m, testruntime.Hooks{}) }

// RunMixed is [Run] for a package with tests that need no runtime. These tests
// always run; the others call [testruntime.Need] first. Example functions
// cannot call it, so examples names the ones that need the runtime.
func RunMixed(m *testing.M, examples ...string) int {
	return run(m, testruntime.Hooks{Mixed: true, Examples: examples})
}

// WithoutOneDNN is [testruntime.WithoutOneDNN].
func WithoutOneDNN() { _ = testruntime.WithoutOneDNN() } // the tests are only slower with it

func run(m *testing.M, h testruntime.Hooks) int {
	h.Open = func() error { _, err := tfbridge.Open(nil); return err }
	h.Live, h.Kinds = tfbridge.Live, tfbridge.LiveKinds
	return testruntime.Main(m, h)
}
