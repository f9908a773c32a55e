package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"millrace/cmd/millrace/internal/cli"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

var update = flag.Bool("update", false, "write what the examples of docs/convert.md give into the page")

// convertPage has examples: the files of a session, the commands, and their results.
const convertPage = "../../docs/convert.md"

// pageExample matches an example of the page.
var pageExample = regexp.MustCompile("(?s)```txtar\n(.*?)```\n")

// progress matches the line that shows how far a conversion is.
var progress = regexp.MustCompile(`(?m)^convert: .* records(, .*)?\n`)

// TestConvertPage types the commands of each example of docs/convert.md. The page shows
// the manifest and the records that are then in the folder out, or the error.
func TestConvertPage(t *testing.T) {
	path, err := filepath.Abs(convertPage)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	places := pageExample.FindAllSubmatchIndex(page, -1)
	if len(places) == 0 {
		t.Fatal("convert.md has no example")
	}
	for _, at := range slices.Backward(places) {
		line := 1 + bytes.Count(page[:at[0]], []byte("\n"))
		t.Run(fmt.Sprintf("line%d", line), func(t *testing.T) {
			t.Chdir(t.TempDir())
			want := txtar.Parse(page[at[2]:at[3]])
			got := convertExample(t, want)
			if *update {
				page = slices.Replace(page, at[2], at[3], txtar.Format(got)...)
				return
			}
			if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
				t.Errorf("convert.md:%d (-want +got):\n%s", line, diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// convertExample writes the files that stand before the section commands, runs the
// commands, and returns the example with their results.
func convertExample(t *testing.T, a *txtar.Archive) *txtar.Archive {
	t.Helper()
	got := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		got.Files = append(got.Files, f)
		if f.Name != "commands" {
			if err := os.WriteFile(f.Name, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		var said bytes.Buffer
		for line := range strings.Lines(string(f.Data)) {
			args := strings.Fields(line)
			if runLine(t.Context(), &cli.Program{Stdout: io.Discard, Stderr: &said}, args[1:]) != 0 {
				got.Files = append(got.Files, txtar.File{Name: "error", Data: said.Bytes()})
				return got
			}
		}
		if notes := progress.ReplaceAll(said.Bytes(), nil); len(notes) > 0 {
			got.Files = append(got.Files, txtar.File{Name: "notes", Data: notes})
		}
		got.Files = append(got.Files, txtar.File{Name: "features", Data: featureLines(t)}, txtar.File{Name: "records", Data: recordLines(t)})
		return got
	}
	t.Fatal("the example has no section commands")
	return nil
}

// featureLines returns the features of the manifest, one a line.
func featureLines(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("out/__manifest__.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Features []json.RawMessage }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range manifest.Features {
		if err := json.Compact(&b, f); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// recordLines returns the records of all shards, one a line, and the name of each shard
// before its records if there are several.
func recordLines(t *testing.T) []byte {
	t.Helper()
	shards, err := filepath.Glob("out/*.tfrecords")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, path := range shards {
		if len(shards) > 1 {
			fmt.Fprintf(&b, "%s\n", filepath.Base(path))
		}
		for r, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := example.Parse(r.Data)
			if err != nil {
				t.Fatal(err)
			}
			named, err := parsed.Decode()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(recordLine(named) + "\n")
		}
	}
	return b.Bytes()
}

// recordLine shows the features of a record.
func recordLine(named []example.Named) string {
	var parts []string
	for _, n := range named {
		value := ""
		switch n.Feature.Kind {
		case example.Int64:
			value = fmt.Sprint(n.Feature.Ints)
		case example.Float:
			value = fmt.Sprint(n.Feature.Floats)
		default:
			value = fmt.Sprintf("%q", n.Feature.Bytes)
		}
		parts = append(parts, n.Name+"="+value)
	}
	return strings.Join(parts, " ")
}
