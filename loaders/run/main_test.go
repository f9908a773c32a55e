package run

import (
	"os"
	"testing"

	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.RunMixed(m))
}
