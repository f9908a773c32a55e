package loaders

import (
	"testing"

	"millrace/tfbridge"
)

// A loader's session starts quickly, and the caller's options stay as they are.
func TestQuickStart(t *testing.T) {
	if o := quickStart(nil); !o.QuickStart {
		t.Error("without options, sessions start slowly")
	}
	given := &tfbridge.SessionOptions{IntraOpThreads: 3}
	if o := quickStart(given); !o.QuickStart || o.IntraOpThreads != 3 {
		t.Errorf("options %+v became %+v", given, o)
	}
	if given.QuickStart {
		t.Error("the caller's options changed")
	}
}
