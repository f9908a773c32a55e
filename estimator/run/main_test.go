package run_test

import (
	"os"
	"testing"

	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }
