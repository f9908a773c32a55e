package main

import (
	"bytes"
	"strings"
	"testing"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord/example"
)

// scalarDataset makes a dataset with a number x in each record.
func scalarDataset(t *testing.T, values ...float32) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Manifest["features"] = []fixture.Object{{"name": "x", "dtype": "float32", "shape": []int{}, "deserialize_type": "float"}}
	d.Args["primary_features"] = []fixture.Object{{"from_name": "x", "to_name": "x"}}
	var records [][]byte
	for _, x := range values {
		records = append(records, example.Marshal([]example.Named{{Name: "x", Feature: fixture.Floats(x)}}))
	}
	d.WriteRecords(t, "a.tfrecords", records...)
	d.Save(t)
	return d
}

// --fetch writes the outputs that it names: here one output and a scalar, which is not
// a row of a record.
func TestFetch(t *testing.T) {
	testruntime.Need(t)
	d := scalarDataset(t, 1, 2)
	predict := []string{"predict", d.Config(), "--model", "../../testdata/models/two_signatures", "--signature", "explain", "--out", "-"}
	if got := string(millraceRuns(t, append(predict, "--fetch", "y")...)); got != "{\"y\":3}\n{\"y\":6}\n" {
		t.Errorf("got %s", got)
	}
	var stdout, stderr bytes.Buffer
	p := &cli.Program{Stdout: &stdout, Stderr: &stderr}
	if code := runLine(t.Context(), p, append(predict, "--fetch", "z")); code != 4 || !strings.Contains(stderr.String(), `no such output; it has "weight", "y"`) {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}

// --unchecked reads a model that the policy refuses, with a clear warning.
func TestUnchecked(t *testing.T) {
	check := []string{"check", scalarDataset(t, 1).Config(), "--model", "../../testdata/models/writes_file", "--signature", "harmless"}
	for _, tt := range []struct {
		args []string
		code int
		want []string
	}{
		{nil, 4, []string{`operation "ReadFile"`}},
		{[]string{"--unchecked"}, 0, []string{"warning: UNCHECKED MODEL", "write files", `without --unchecked it is refused`, `operation "ReadFile"`}},
	} {
		var stdout, stderr bytes.Buffer
		p := &cli.Program{Stdout: &stdout, Stderr: &stderr}
		if code := runLine(t.Context(), p, append(check, tt.args...)); code != tt.code {
			t.Errorf("%q: exit code %d, %s", tt.args, code, &stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%q: %s\ndoes not say %q", tt.args, &stderr, want)
			}
		}
	}
}
