package savedmodel

import (
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/farmhash"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/message"
)

// TensorFlow wrote the fingerprints of the test models; ours must agree.
func TestFingerprintAgreesWithTensorFlow(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/models/*/fingerprint.pb")
	if err != nil || len(dirs) < 5 {
		t.Fatalf("found %d fingerprints, %v", len(dirs), err)
	}
	for _, name := range dirs {
		dir := filepath.Dir(name)
		var want tfproto.FingerprintDef
		if err := proto.Unmarshal(readFile(t, name), &want); err != nil {
			t.Fatal(err)
		}
		model := message.Ordered(readFile(t, filepath.Join(dir, "saved_model.pb")), message.SavedModelType())
		if got := farmhash.Fingerprint64(model); got != want.SavedModelChecksum {
			t.Errorf("%s: saved_model.pb\n got %d\nwant %d", dir, got, want.SavedModelChecksum)
		}
		if got := farmhash.Fingerprint64(readFile(t, filepath.Join(dir, "variables/variables.index"))); got != want.CheckpointHash {
			t.Errorf("%s: variables.index\n got %d\nwant %d", dir, got, want.CheckpointHash)
		}
	}
}
