package savedmodel

import (
	"crypto/rand"
	"encoding/binary"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/farmhash"
	"millrace/internal/base/tfproto"
	"millrace/internal/base/wire"
	"millrace/savedmodel/bundle"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// Field numbers of FingerprintDef.
const (
	fingerprintModel, fingerprintIndex, fingerprintVersion = 1, 5, 6
)

// fingerprintCheck compares a model with its fingerprint.pb.
type fingerprintCheck struct{ *reader }

// check compares the model with the checksums that TensorFlow (2.11 and later) writes
// into fingerprint.pb. It reports whether the file had any.
func (r fingerprintCheck) check(data []byte) (bool, error) {
	if !r.folder.Has(fingerprintName) || filepath.Base(r.File) != binaryName || r.options.IgnoreFingerprint {
		return false, nil
	}
	name := filepath.Join(r.dir, fingerprintName)
	b, err := r.folder.Open(fingerprintName).ReadWhole(maxSmallBytes)
	if err != nil {
		return false, err
	}
	var walk message.Checker
	if err := walk.Whole(b, message.FingerprintType()); err != nil {
		return false, modelfile.Corrupt(name, "not a fingerprint: %v", err)
	}
	model, index, producer := parseFingerprint(b)
	if producer < 1 {
		return false, nil // before TensorFlow 2.11 field 1 only covered the graph
	}
	if farmhash.Fingerprint64(message.Ordered(data, message.SavedModelType())) != model && farmhash.Fingerprint64(data) != model {
		return false, r.mismatch(binaryName) // some versions of TensorFlow computed the checksum of the original file
	}
	return true, r.checkIndex(index)
}

// parseFingerprint reads a FingerprintDef.
func parseFingerprint(b []byte) (model, index uint64, producer int32) {
	for f := range wire.Fields(b) {
		switch f.Num {
		case fingerprintModel:
			model = f.Number
		case fingerprintIndex:
			index = f.Number
		case fingerprintVersion:
			v, _ := message.Find(f.Bytes, metagraph.VersionProducer)
			producer = int32(v.Number)
		}
	}
	return model, index, producer
}

// checkIndex compares the index of the variables with its checksum,
// which is 0 for a model without one.
func (r fingerprintCheck) checkIndex(want uint64) error {
	if want == 0 {
		return nil
	}
	b, err := r.folder.Open(indexName).ReadWhole(bundle.MaxIndexBytes)
	if err != nil {
		return err
	}
	if farmhash.Fingerprint64(b) != want {
		return r.mismatch(indexName)
	}
	return nil
}

// mismatch returns the error about a file that differs from the one that TensorFlow
// wrote.
func (r fingerprintCheck) mismatch(name string) error {
	return modelfile.Corrupt(filepath.Join(r.dir, name),
		"it does not match the checksum in %s: it is damaged or was edited; save the model again, or remove %s if the edit is meant",
		fingerprintName, fingerprintName)
}

// Refingerprint returns a model's fingerprint.pb for another index of variables: the
// copy of a model with other values. The copy gets a new identity.
func Refingerprint(fingerprint, index []byte) ([]byte, error) {
	def := &tfproto.FingerprintDef{}
	if err := proto.Unmarshal(fingerprint, def); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "%s: %w", fingerprintName, err)
	}
	var id [8]byte
	rand.Read(id[:]) // never returns an error
	def.CheckpointHash = farmhash.Fingerprint64(index)
	def.Uuid = strconv.FormatUint(binary.LittleEndian.Uint64(id[:]), 10)
	return proto.MarshalOptions{Deterministic: true}.Marshal(def)
}
