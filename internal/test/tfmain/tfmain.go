// Package tfmain is the TestMain of test packages that use TensorFlow:
//
//	func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }
//
// It opens the runtime, skips loudly or fails when there is none, and fails
// the package if a test leaves C objects open. Package tfbridge cannot import
// it, and its own tests call [testruntime.Main] themselves.
package tfmain

import (
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// Run runs the tests of a package whose tests all need the runtime, and
// returns the exit code for os.Exit.
func Run(m *testing.M) int { return run(m, false) }

// RunMixed is [Run] for a package with tests that do without the runtime.
// They run always; the others call [testruntime.Need] first.
func RunMixed(m *testing.M) int { return run(m, true) }

func run(m *testing.M, mixed bool) int {
	return testruntime.Main(m, testruntime.Hooks{
		Open:  func() error { _, err := tfbridge.Open(nil); return err },
		Live:  tfbridge.Live,
		Kinds: tfbridge.LiveKinds,
		Mixed: mixed,
	})
}
