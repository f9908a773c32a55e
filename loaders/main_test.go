package loaders_test

import (
	"os"
	"testing"

	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) {
	tfmain.WithoutOneDNN()
	os.Exit(tfmain.RunMixed(m, "ExampleOpen", "ExampleLoader_Batches", "ExampleLoader_Run"))
}
