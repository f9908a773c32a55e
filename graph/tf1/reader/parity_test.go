package reader_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/tf1/reader"
	"millrace/tfbridge"
)

// scenario is a recording of one reader by testdata/make.py.
type scenario struct {
	Kind    string
	Options struct {
		Compression string
		SkipHeader  int   `json:"skip_header_lines"`
		Record      int64 `json:"record_bytes"`
		Header      int64 `json:"header_bytes"`
		Footer      int64 `json:"footer_bytes"`
		Hop         int64 `json:"hop_bytes"`
		Encoding    string
	}
	Files []*string // contents in hexadecimal; nil: a missing file
	Steps [][2]any  // a step, and its result: a value or a code
}

// A reader behaves as in Python: it returns the same records with the same keys and
// counts, and the same codes at the end and after errors.
func TestParity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "parity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]scenario
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 15 {
		t.Errorf("%d readers were recorded", len(all))
	}
	for name, sc := range all {
		t.Run(name, func(t *testing.T) {
			dir, paths := t.TempDir(), []string(nil)
			for i, content := range sc.Files {
				paths = append(paths, filepath.Join(dir, "f"+string(rune('0'+i))))
				if content == nil {
					continue
				}
				data, err := hex.DecodeString(*content)
				if err == nil {
					err = os.WriteFile(paths[i], data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			g := newReading(t, paths, sc.reader)
			var saved any = ""
			for i, step := range sc.Steps {
				if diff := cmp.Diff(step[1], any(g.take(step[0].([]any), dir, &saved))); diff != "" {
					t.Errorf("step %d, %v (-want +got)\n%s", i, step[0], diff)
				}
			}
		})
	}
}

// reader adds the reader of a scenario.
func (sc *scenario) reader(s *graph.Scope) *reader.Reader {
	o := sc.Options
	switch sc.Kind {
	case "TFRecordReader":
		return reader.NewTFRecord(s, &reader.TFRecordOptions{CompressionType: o.Compression})
	case "TextLineReader":
		return reader.NewTextLine(s, &reader.TextLineOptions{SkipHeaderLines: o.SkipHeader})
	case "FixedLengthRecordReader":
		return reader.NewFixedLengthRecord(s, o.Record, &reader.FixedLengthRecordOptions{
			HeaderBytes: o.Header, FooterBytes: o.Footer, HopBytes: o.Hop, Encoding: o.Encoding,
		})
	case "WholeFileReader":
		return reader.NewWholeFile(s, nil)
	}
	return reader.NewIdentity(s, nil)
}

// take adds and runs one step, and returns its result in the format of the recording.
// Both omit the folder's name.
func (g *reading) take(step []any, dir string, saved *any) map[string]any {
	g.t.Helper()
	var op *tfbridge.Operation
	var outputs []tfbridge.Output
	switch step[0] {
	case "read":
		key, value := g.r.Read(g.s, g.files)
		outputs = []tfbridge.Output{key, value}
	case "read_up_to":
		keys, values := g.r.ReadUpTo(g.s, g.files, g.s.Const(int64(step[1].(float64))))
		outputs = []tfbridge.Output{keys, values}
	case "records":
		outputs = []tfbridge.Output{g.r.NumRecordsProduced(g.s)}
	case "units":
		outputs = []tfbridge.Output{g.r.NumWorkUnitsCompleted(g.s)}
	case "state", "save":
		outputs = []tfbridge.Output{g.r.SerializeState(g.s)}
	case "reset":
		op = g.r.Reset(g.s)
	case "restore":
		op = g.r.RestoreState(g.s, g.s.Const(*saved))
	case "damaged state":
		op = g.r.RestoreState(g.s, g.s.Const("damaged"))
	}
	var value any
	var err error
	if op != nil {
		_, err = g.session.RunContext(g.t.Context(), nil, nil, []*tfbridge.Operation{op})
	} else if values, failed := g.fetch(outputs...); failed != nil {
		err = failed
	} else if value = values; len(values) == 1 {
		value = values[0]
	}
	if step[0] == "save" {
		*saved, value = value, nil
	}
	result := map[string]any{"value": value}
	if err != nil {
		var e *tfbridge.Error
		if !errors.As(err, &e) {
			g.t.Fatal(err)
		}
		result = map[string]any{"code": int(e.Code)}
	}
	var out map[string]any
	text, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal([]byte(strings.ReplaceAll(string(text), dir+"/", "")), &out)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}
