package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfrecord"
)

// The end of the data is neither an error nor a closed session.
func TestNextEnds(t *testing.T) {
	r := start(t, func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 1, 1) })
	element, end, err := r.it.Next(t.Context(), r.sess)
	if err != nil || end || len(element) != 1 {
		t.Fatalf("the first call returned %v, %v, %v", element, end, err)
	}
	element[0].Close()
	for range 2 {
		if element, end, err := r.it.Next(t.Context(), r.sess); element != nil || !end || err != nil {
			t.Fatalf("at the end: got %v, %v, %v, want nil, true, nil", element, end, err)
		}
	}
	r.sess.Close()
	if _, end, err := r.it.Next(t.Context(), r.sess); end || !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("in a closed session: got end %v, error %v", end, err)
	}
}

func TestNextFails(t *testing.T) {
	var file bytes.Buffer
	w := tfrecord.NewWriter(&file, tfrecord.None)
	for range 2 {
		if err := w.Write([]byte("some bytes")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, path := file.Bytes(), filepath.Join(t.TempDir(), "damaged.tfrecord")
	data[len(data)-6] ^= 1 // a byte of the second record
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []struct {
		name       string
		tensorflow bool
	}{{"ours", false}, {"TensorFlow's", true}} {
		r := start(t, func(s *graph.Scope) *dataset.Dataset {
			return dataset.TFRecords(s, s.Const([]string{path}), &dataset.TFRecordsOptions{TensorFlow: engine.tensorflow})
		})
		element, _, err := r.it.Next(t.Context(), r.sess)
		if err != nil {
			t.Fatal(err)
		}
		element[0].Close()
		_, end, err := r.it.Next(t.Context(), r.sess)
		var e *millrace.Error
		if end || !errors.As(err, &e) || e.File != path || e.Record != 1 {
			t.Errorf("%s: got end %v, error %v, want one that names %s and record 1", engine.name, end, err, path)
		}
	}
}

func TestNextCanceled(t *testing.T) {
	r := start(t, func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 1, 1) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if element, end, err := r.it.Next(ctx, r.sess); element != nil || end || !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("got %v, %v, %v", element, end, err)
	}
}

// Next returns the failure of the scope, not a nil dereference.
func TestNextOfFailedScope(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 1, 1)
	s.Op1("NoSuchOperation", nil)
	if _, end, err := d.Iterator("it").Next(t.Context(), nil); end || !errors.Is(err, millrace.ErrModel) {
		t.Errorf("got end %v, error %v", end, err)
	}
}
