package savedmodel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/farmhash"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/message"
	"millrace/savedmodel/policy"
)

// The error about a missing signature names it and the file where it should be.
func TestMissingSignature(t *testing.T) {
	m, err := Read(filepath.Join(models, "linear"), &Options{Signatures: []string{"serving_default", "serving_default"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Signature("none")
	var e *millrace.Error
	if !errors.As(err, &e) || e.Op != "read model" || e.File != m.Dir || e.Signature != "none" || !errors.Is(err, millrace.ErrModel) {
		t.Errorf("got %v", err)
	}
	empty := &Model{Dir: "DIR"}
	_, err = empty.Signature("none")
	wantError(t, err, millrace.ErrModel, "DIR", "the model has none")
}

// Unset limits have their defaults, and set limits are exact.
func TestOptionLimits(t *testing.T) {
	var none *Options
	for _, o := range []*Options{none, {}, {MaxBytes: -1, MaxNodes: -1}} {
		if o.maxBytes() != 512<<20 || o.maxNodes() != 1<<20 {
			t.Errorf("%+v: %d bytes, %d nodes", o, o.maxBytes(), o.maxNodes())
		}
	}
	if o := (&Options{MaxBytes: 1, MaxNodes: 1, Signatures: []string{"b", "a", "b"}}); o.maxBytes() != 1 || o.maxNodes() != 1 || !slices.Equal(o.signatures(), []string{"a", "b"}) {
		t.Errorf("%d bytes, %d nodes, signatures %q", o.maxBytes(), o.maxNodes(), o.signatures())
	}
	dir := bare(t, "linear")
	info, err := os.Stat(filepath.Join(dir, binaryName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir, &Options{MaxBytes: info.Size()}); err != nil {
		t.Error(err)
	}
	_, err = Read(dir, &Options{MaxBytes: info.Size() - 1})
	wantError(t, err, millrace.ErrLimit)
}

// A fingerprint counts if TensorFlow 2.11 or later wrote it, for a model in binary
// form.
func TestFingerprintsThatCount(t *testing.T) {
	dir := copyModel(t, "linear")
	name := filepath.Join(dir, fingerprintName)
	whole := readFile(t, filepath.Join(dir, binaryName))
	index := farmhash.Fingerprint64(readFile(t, filepath.Join(dir, indexName)))
	write := func(model, index uint64, producer int32) {
		writeFile(t, name, marshal(t, &tfproto.FingerprintDef{SavedModelChecksum: model, CheckpointHash: index, Version: &tfproto.VersionDef{Producer: producer}}))
	}
	sum, raw := farmhash.Fingerprint64(message.Ordered(whole, message.SavedModelType())), farmhash.Fingerprint64(whole)
	for _, tt := range []struct {
		model, index  uint64
		producer      int32
		fingerprinted bool
		wrong         string
	}{
		{sum, index, 1, true, ""}, {raw, index, 1, true, ""}, {sum, 0, 1, true, ""}, {sum, index, 2, true, ""}, {1, 1, 0, false, ""},
		{1, index, 1, false, "saved_model.pb: it does not match the checksum"}, {sum, 1, 1, false, indexName + ": it does not match the checksum"},
	} {
		write(tt.model, tt.index, tt.producer)
		m, err := Read(dir, nil)
		if tt.wrong != "" {
			wantError(t, err, millrace.ErrCorrupt, tt.wrong)
		} else if err != nil || m.Fingerprinted != tt.fingerprinted {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if err := os.Truncate(name, maxSmallBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrLimit, fmt.Sprintf("at most %d are read", maxSmallBytes))
}

// Errors about the graph are distinguished from oddities.
func TestGraphVersions(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x")})
	m.MetaGraphs[0].GraphDef.Versions.MinConsumer = newestProducer
	if _, err := readGraph(t, m, nil); err != nil {
		t.Errorf("the newest that can be read: %v", err)
	}
	m.MetaGraphs[0].GraphDef.Versions.MinConsumer = -1
	if _, err := readGraph(t, m, nil); err != nil {
		t.Errorf("of no version: %v", err)
	}
}

// The error about a file that is not a model names the expected content.
func TestNoProtobuf(t *testing.T) {
	dir := bare(t, "constant")
	writeFile(t, filepath.Join(dir, binaryName), []byte("meta_graphs {}"))
	_, err := Read(dir, nil)
	wantError(t, err, millrace.ErrCorrupt, "saved_model.pb", "not a SavedModel: in SavedModel: ")
	var e *millrace.Error
	if errors.As(err, &e) && e.Offset < 0 {
		t.Errorf("no offset: %v", err)
	}
	whole := readFile(t, filepath.Join(models, "constant", binaryName))
	writeFile(t, filepath.Join(dir, binaryName), whole[:len(whole)-1])
	_, err = Read(dir, nil)
	wantError(t, err, millrace.ErrTruncated, "saved_model.pb ends too early or is damaged: in SavedModel: field 2 is cut off")
	if errors.As(err, &e) && e.Offset < 0 {
		t.Errorf("no offset: %v", err)
	}
	if n := strings.Count(err.Error(), "offset"); n != 1 {
		t.Errorf("%d offsets in %v", n, err)
	}
}

// A message about several operations names each once, in order, and not too many.
func TestOtherOperations(t *testing.T) {
	var nodes []*tfproto.NodeDef
	for i, op := range []string{"WriteFile", "ReadFile", "WriteFile", "MatchingFiles", "ReadFile"} {
		nodes = append(nodes, node(fmt.Sprintf("n%d", i), op, "x", "x"))
	}
	_, err := readGraph(t, graph(append(nodes, node("y", "Identity", "x"))), nil)
	wantError(t, err, millrace.ErrUnsafeModel, `operation "WriteFile" (node "n0"), which is in the graph, `, `; it also has "MatchingFiles", "ReadFile"; if you trust`)
	nodes = nil
	for i := range policy.MaxViolations + 3 {
		nodes = append(nodes, node(fmt.Sprintf("n%02d", i), fmt.Sprintf("Custom%02d", i), "x"))
	}
	_, err = readGraph(t, graph(append(nodes, node("y", "Identity", "x"))), nil)
	wantError(t, err, millrace.ErrModel, `operation "Custom00" (node "n00")`, `"Custom01", "Custom02"`, fmt.Sprintf("%q;", fmt.Sprintf("Custom%02d", policy.MaxViolations)))
	if strings.Contains(err.Error(), fmt.Sprintf("Custom%02d", policy.MaxViolations+1)) {
		t.Errorf("too many names: %v", err)
	}
}
