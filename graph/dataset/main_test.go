package dataset_test

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

// values returns int64 values as elements.
func values(v ...int64) []any {
	elements := make([]any, len(v))
	for i := range v {
		elements[i] = v[i]
	}
	return elements
}
