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
)

// Field numbers of FingerprintDef.
const (
	fingerprintModel, fingerprintIndex, fingerprintVersion = 1, 5, 6
)

// checkFingerprint compares the model with the checksums that TensorFlow (2.11
// and later) writes into fingerprint.pb. It reports whether there were any.
func (r *reader) checkFingerprint(data []byte) (bool, error) {
	if !r.folder.has(fingerprintName) || filepath.Base(r.file) != binaryName || r.options.IgnoreFingerprint {
		return false, nil
	}
	name := filepath.Join(r.dir, fingerprintName)
	b, err := r.folder.open(fingerprintName).readWhole(maxSmallBytes)
	if err != nil {
		return false, err
	}
	var walk wireCheck
	if err := walk.whole(b, fingerprintType()); err != nil {
		return false, corrupt(name, "not a fingerprint: %v", err)
	}
	model, index, producer := parseFingerprint(b)
	if producer < 1 {
		return false, nil // before TensorFlow 2.11 field 1 was of the graph alone
	}
	if farmhash.Fingerprint64(ordered(data, savedModelType())) != model && farmhash.Fingerprint64(data) != model {
		return false, r.mismatch(binaryName) // some versions of TensorFlow took the checksum of the file as it was
	}
	return true, r.checkIndexFingerprint(index)
}

// parseFingerprint reads a FingerprintDef.
func parseFingerprint(b []byte) (model, index uint64, producer int32) {
	for f := range fieldsOf(b) {
		switch f.num {
		case fingerprintModel:
			model = f.number
		case fingerprintIndex:
			index = f.number
		case fingerprintVersion:
			v, _ := attrField(f.bytes, versionProducer)
			producer = int32(v.number)
		}
	}
	return model, index, producer
}

// checkIndexFingerprint compares the index of the variables with its checksum,
// which is 0 for a model without one.
func (r *reader) checkIndexFingerprint(want uint64) error {
	if want == 0 {
		return nil
	}
	b, err := r.folder.open(indexName).readWhole(MaxIndexBytes)
	if err != nil {
		return err
	}
	if farmhash.Fingerprint64(b) != want {
		return r.mismatch(indexName)
	}
	return nil
}

// mismatch is the error for a file that is not the one TensorFlow wrote.
func (r *reader) mismatch(name string) error {
	return corrupt(filepath.Join(r.dir, name),
		"it does not match the checksum in %s: it is damaged or was edited; save the model again, or remove %s if the edit is meant",
		fingerprintName, fingerprintName)
}

// Refingerprint returns a model's fingerprint.pb for another index of variables:
// the copy of a model with other values. The copy gets an identity of its own.
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
