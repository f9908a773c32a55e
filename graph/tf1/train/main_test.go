package train_test

import (
	"os"
	"testing"

	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.Run(m))
}
