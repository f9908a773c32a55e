package loaders_test

import (
	"os"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	os.Exit(testruntime.Main(m, testruntime.Hooks{
		Open:  func() error { _, err := tfbridge.Open(nil); return err },
		Live:  tfbridge.Live,
		Kinds: tfbridge.LiveKinds,
		Mixed: true,
	}))
}
