package loaders_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/cases"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/quarantine"
	"millrace/tfrecord"

	"github.com/google/go-cmp/cmp"
)

// badCases are cases of every type of loader, compressed and not.
var badCases = []string{
	"compression-gzip", "cont-gzip", "cont-random-shuffle", "disc-random-own", "disc-zlib",
	"chunk-gzip", "chunk-rand-003", byNumber,
}

// byNumber is a case that orders its records by their numbers and reads a part of them.
// Bad records have numbers as well.
const byNumber = "chunk-shuffle-all"

// addBadRecords adds bad records to each data file of a case, and sets its loader to
// leave them out, with further arguments. It returns the number of bad records.
func addBadRecords(t *testing.T, dir string, add func(t *testing.T, path string) int, more map[string]any) (bad int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tfrecords") {
			bad += add(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "loader.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&config); err != nil {
		t.Fatal(err)
	}
	args := config["args"].(map[string]any)
	maps.Copy(args, more)
	args["bad_records"] = map[string]any{"skip": bad}
	if text, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return bad
}

// addBadTo adds two bad records to a data file: after its first record a copy of it
// with a wrong checksum, and at the end a record that does not parse.
func addBadTo(t *testing.T, path string) (bad int) {
	t.Helper()
	return addTo(t, path, func(first []byte) (second, last []byte) {
		return corrupt.Flip(first, 8*13), corrupt.Frame([]byte("\xff\xfe\x00garbage"))
	})
}

// addTo adds two records to a data file, if it has any: one after its first record,
// made from it, and one at the end. make returns them with their frames.
func addTo(t *testing.T, path string, pair func(first []byte) (second, last []byte)) (added int) {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain, pack := decompress(t, packed)
	records := corrupt.Split(plain)
	if len(records) == 0 || len(records[0]) <= tfrecord.FrameBytes {
		return 0
	}
	second, last := pair(records[0])
	records = append(slices.Insert(records, 1, second), last)
	if err := os.WriteFile(path, pack(slices.Concat(records...)), 0o666); err != nil {
		t.Fatal(err)
	}
	return 2
}

// decompress returns the decompressed bytes of a file, and a function that compresses
// them.
func decompress(t *testing.T, packed []byte) (plain []byte, pack func([]byte) []byte) {
	t.Helper()
	var r io.Reader = bytes.NewReader(packed)
	var err error
	switch {
	case bytes.HasPrefix(packed, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(r)
		pack = corrupt.Gzip
	case bytes.HasPrefix(packed, []byte{0x78}):
		r, err = zlib.NewReader(r)
		pack = corrupt.Zlib
	default:
		return packed, func(b []byte) []byte { return b }
	}
	if err == nil {
		plain, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain, pack
}

// openBadCase opens a case's loader with a ledger, natively or not.
func openBadCase(t *testing.T, dir, ledger string, isNative bool) *loaders.Loader {
	t.Helper()
	seed := int64(7)
	p, problems := loaders.Check(filepath.Join(dir, "loader.json"), &loaders.CheckOptions{Seed: &seed, Quarantine: ledger})
	if p == nil {
		t.Fatal(problems)
	}
	if !isNative {
		p.NativeLibrary = ""
	}
	return openPlan(t, p)
}

// Loaders of every type leave bad records out as if they were not there, in compressed
// files too, and list each one. Listed records can be copied.
func TestBadRecordsOfEveryType(t *testing.T) {
	testruntime.Need(t)
	const most = 40 // batches: some cases have no end
	for _, name := range badCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := firstTexts(t, openCase(t, cases.Prepare(t, name), true), most, nil)
			dir := cases.Prepare(t, name)
			bad := addBadRecords(t, dir, addBadTo, nil)
			if bad == 0 || len(want) == 0 {
				t.Fatalf("%d bad records, %d batches", bad, len(want))
			}
			if name == byNumber {
				want = nil // the engines agree, but in another order
			}
			for _, isNative := range []bool{true, false} {
				ledger := filepath.Join(t.TempDir(), "ledger")
				got, _ := firstTexts(t, openBadCase(t, dir, ledger, isNative), most, nil)
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("native %v (-want +got)\n%s", isNative, diff)
				}
				checkLedger(t, ledger, bad)
			}
		})
	}
}

// checkLedger checks that a ledger lists a number of bad records of [addBadTo], and
// that their copies equal the bytes in the files.
func checkLedger(t *testing.T, ledger string, bad int) {
	t.Helper()
	entries, err := quarantine.Read(ledger)
	if err != nil || len(entries) != bad {
		t.Fatalf("the ledger has %d entries, want %d (%v)", len(entries), bad, err)
	}
	var out bytes.Buffer
	if n, err := quarantine.Extract(&out, entries); err != nil || n != int64(bad) {
		t.Fatalf("extracted %d records: %v", n, err)
	}
	copies := corrupt.Split(out.Bytes())
	garbage := 0
	for _, c := range copies {
		if bytes.Equal(c, corrupt.Frame([]byte("\xff\xfe\x00garbage"))) {
			garbage++
		}
	}
	if len(copies) != bad || garbage != bad/2 {
		t.Errorf("%d copies of bad records, %d of what does not parse, want %d and %d", len(copies), garbage, bad, bad/2)
	}
}
