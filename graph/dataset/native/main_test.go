package native_test

import (
	"os"
	"testing"

	"millrace/internal/test/datasettest"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.Run(m))
}

// out and outs shorten what functions of the graph return.
type (
	out  = tfbridge.Output
	outs = []tfbridge.Output
)

var (
	newScope = graphtest.NewScope
	tryAll   = datasettest.Read
	valueOf  = datasettest.ValueOf
	all      = datasettest.All
)
