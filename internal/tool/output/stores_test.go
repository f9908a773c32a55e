package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/remotetest"
)

// An output in a store has the bytes of a file, and replaces another one only if it may.
func TestCreateInStore(t *testing.T) {
	s := remotetest.NewServer()
	s.Register(t)
	for _, name := range []string{"out.ndjson", "out.tfrecords", "out.npz", "out.parquet"} {
		path := "s3://outputs/" + name
		write := func(overwrite bool, commit bool) error {
			f, err := Create(path, &Options{Overwrite: overwrite})
			if err != nil {
				return err
			}
			defer f.Close()
			if err := f.Write(number(7)); err != nil || !commit {
				return err
			}
			return f.Commit()
		}
		if err := write(false, false); err != nil || s.Object("/outputs/"+name) != nil {
			t.Errorf("%s that was not committed: %v", name, err)
		}
		if err := write(false, true); err != nil || len(s.Object("/outputs/"+name)) == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		if err := write(false, true); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), path+": exists already") {
			t.Errorf("%s a second time: %v", name, err)
		}
		if err := write(true, true); err != nil {
			t.Errorf("%s is not replaced: %v", name, err)
		}
	}
	if got := string(s.Object("/outputs/out.ndjson")); got != "{\"n\":7}\n" {
		t.Errorf("got %s", got)
	}
	if _, err := Create("s3://data/a/out.npz", &Options{Inputs: []string{"s3://data/a"}}); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("an output in its input: %v", err)
	}
}

// An output in parts continues after a process that ended at any of its writes, and _SUCCESS is
// there only when all parts are.
func TestPartsInStore(t *testing.T) {
	const path = "s3://outputs/out.ndjson"
	writes, whole := 1, 0
	for at := 0; at < writes; at++ {
		s := remotetest.NewServer()
		s.Register(t)
		n := 0
		s.Fault = func(_ int, r *http.Request) (f remotetest.Fault) {
			if s.Object("/outputs/out.ndjson/_SUCCESS") != nil && s.Object("/outputs/out.ndjson/part-00002.ndjson") == nil {
				t.Error("_SUCCESS before the last part")
			}
			if r.Method != http.MethodPut && r.Method != http.MethodDelete {
				return f
			}
			if n++; n > at {
				f = remotetest.Fault{Status: 403, Code: "AccessDenied"}
			}
			return f
		}
		_, err := writeParts(path, Job{"model": "a"}, false)
		if at == 0 && err == nil {
			t.Fatal("it was written without permission")
		}
		if err != nil {
			writes = at + 2
			var e *millrace.Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.File, path) {
				t.Errorf("write %d: %v", at, err)
			}
		}
		s.Fault = nil
		if _, err := writeParts(path, Job{"model": "a"}, false); err != nil {
			t.Fatalf("after write %d: %v", at, err)
		}
		var success Success
		if err := json.Unmarshal(s.Object("/outputs/out.ndjson/_SUCCESS"), &success); err != nil || success.Rows != partBatches {
			t.Errorf("after write %d: %+v, %v", at, success, err)
		}
		var rows []byte
		for _, part := range success.Parts {
			rows = append(rows, s.Object("/outputs/out.ndjson/"+part.Name)...)
		}
		if want := "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n"; !bytes.Equal(rows, []byte(want)) {
			t.Errorf("after write %d: %s", at, rows)
		}
		if got := len(s.Paths()); got != 4 {
			t.Errorf("after write %d: objects %q", at, s.Paths())
		}
		whole++
	}
	if whole < 8 {
		t.Errorf("%d writes were tried", whole)
	}
}
