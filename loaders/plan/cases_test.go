package plan_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/cases"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/chunk"
	"millrace/loaders/stage/order"
	"millrace/loaders/stage/window"
	"millrace/tfrecord"
	"millrace/tfrecord/index"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

// planned plans a case with our own operations, or without; nil if its config is
// refused.
func planned(t *testing.T, dir, library string) *plan.Plan {
	t.Helper()
	seed := int64(1)
	o := &spec.Options{Seed: &seed}
	if path := cases.Model(dir); path != "" {
		o.Model, _ = spec.ReadModelNames(path)
	}
	s, _ := spec.Check(filepath.Join(dir, "loader.json"), o)
	if s == nil {
		return nil
	}
	return plan.New(s, &plan.Options{NativeLibrary: library})
}

// rewrites returns the optimiser's decisions, a line for each rewrite.
func rewrites(p *plan.Plan) (text string) {
	for _, r := range p.Engine().Rewrites() {
		text += fmt.Sprintf("\t%v\t%s: %s\n", r.Applied, r.Name, r.Why)
	}
	return text
}

// decisions returns the plan's other decisions, a line for each kind.
func decisions(t *testing.T, p *plan.Plan) string {
	t.Helper()
	scan, err := p.Scan(t.Context())
	if err != nil {
		return fmt.Sprintf("\tscan: %v\n", err)
	}
	var b strings.Builder
	rows, known := p.Rows(scan)
	fmt.Fprintf(&b, "\t%d records at once, %d again; %d rows, %v\n", p.Engine().GroupSize(scan), p.Engine().RetryGroupSize(), rows, known)
	decoded, direct := p.Engine().ParsedOrder(true)
	raw, suffices := p.Engine().ParsingSuffices(false)
	fmt.Fprintf(&b, "\ttensors of features %d, %v; by TensorFlow's parser %d, %v; natively %v\n", decoded, direct, raw, suffices, p.Engine().NativeTensors())
	switch {
	case p.Window != nil:
		fmt.Fprintf(&b, "\t%d windows at once, equal ones: %v\n", p.Engine().WindowsAtOnce(), p.Engine().EqualWindows())
		short, err := window.ShortFiles(t.Context(), p.Spec, scan)
		fmt.Fprintf(&b, "\t%d files too short, %v; %v\n", len(short), err, window.CheckFileLengths(t.Context(), p.Spec, scan))
	case p.Chunks != nil:
		frames, known := chunk.Frames(p.Spec)
		fmt.Fprintf(&b, "\tby place: %v; %d frames, %v; lengths %d; rows: %v\n", p.Engine().ReadsByPlace(), frames, known, scan.Lengths, chunk.CheckRows(t.Context(), p.Spec, scan))
		for epoch := range int64(3) {
			begin, end := order.EpochPart(p.Spec, scan, epoch)
			fmt.Fprintf(&b, "\tepoch %d: sequences %d to %d of order %d\n", epoch, begin, end, order.Period(p.Spec, epoch))
		}
	default:
		fmt.Fprintf(&b, "\tplace of row 1 and the next two: %q\n", order.Place(p.Spec, scan, 1, 3))
	}
	_, padded := p.MeasurePadding()
	for _, q := range padded {
		fmt.Fprintf(&b, "\tpadding of %s: %.3f %q\n", q.Name, q.Share, q.Counter)
	}
	if err := check.FindBadRecord(t.Context(), p.Spec); err != nil {
		t.Errorf("a record of sound data: %v", err)
	}
	return b.String()
}

// relative removes the temporary folder from a plan's paths, because its length would
// change the columns of the text.
func relative(p *plan.Plan, dir string) {
	short := func(path string) string { return strings.TrimPrefix(path, dir+string(filepath.Separator)) }
	p.Path, p.ManifestPath, p.ListPath = short(p.Path), short(p.ManifestPath), short(p.ListPath)
	for i := range p.Files {
		p.Files[i].Path = short(p.Files[i].Path)
	}
}

// comparedCases are the cases whose plans are compared as a whole. Together they have
// all stages and decisions, and nearly all forms of each.
var comparedCases = []string{
	"chunk-const", "chunk-laplace", "chunk-rand-002", "chunk-rand-003", "chunk-rand-004", "chunk-rand-007", "chunk-rand-008",
	"chunk-rand-009", "chunk-rand-017", "chunk-rand-018", "chunk-rand-022", "chunk-rand-023", "chunk-rand-027", "chunk-rand-029",
	"chunk-steps-trim", "const-order", "cont-fixed", "cont-slice", "dir-order", "disc-random-own", "disc-slice", "list-extensions",
	"multi-load-gzip", "multi-load-types", "rand-004", "rand-005", "rand-006", "rand-007", "rand-008", "rand-009", "rand-011", "rand-013",
	"rand-014", "rand-015", "rand-017", "rand-018", "rand-019", "raw-special", "seq-empty-lists", "seq-raw-unsigned", "shuffle-large",
	"shuffle-pipeline", "slice-chain",
}

// TestPlansOfCases compares the plans of cases of the format: their text, and the
// decisions with our own operations and without.
func TestPlansOfCases(t *testing.T) {
	var got strings.Builder
	digests := map[string]string{}
	for _, name := range comparedCases {
		dir := cases.Prepare(t, name)
		p, native := planned(t, dir, ""), planned(t, dir, "library")
		plain := rewrites(p) + decisions(t, p)
		for line := range strings.Lines(rewrites(native) + decisions(t, native)) {
			if !strings.Contains(plain, line) {
				plain += "natively" + line
			}
		}
		digest := digestOf(t, p)
		if p.ListPath == "" && digest != digestOf(t, planned(t, cases.Prepare(t, name), "")) { // lists hold the folder
			t.Errorf("%s has another digest in another folder", name)
		}
		if other := digests[digest]; other != "" {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[digest] = name
		relative(p, dir)
		text := strings.TrimPrefix(plain, rewrites(p)) + p.Explain() // which lists the rewrites
		fmt.Fprintf(&got, "=== %s\n%s\n", name, strings.ReplaceAll(text, dir, "${CASE}"))
	}
	golden(t, "plans.txt", got.String())
}

// TestFaultsOfCases compares the errors of plans for the cases with bad data: from the
// look at all files before the first batch, and from the look at all records after a
// failure.
func TestFaultsOfCases(t *testing.T) {
	var got strings.Builder
	for _, name := range cases.All(t) {
		if cases.Read(t, name).Mode != "error" {
			continue
		}
		dir := cases.Prepare(t, name)
		p := planned(t, dir, "")
		if p == nil {
			continue
		}
		_, scan := p.Scan(t.Context())
		record := check.FindBadRecord(t.Context(), p.Spec)
		fmt.Fprintf(&got, "%s\n\tfiles: %s\n\trecords: %s\n", name, described(scan, dir), described(record, dir))
	}
	golden(t, "faults.txt", got.String())
}

// digestOf returns the digest of a plan.
func digestOf(t *testing.T, p *plan.Plan) string {
	t.Helper()
	digest, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// described returns an error with its class, and without the folder of its case.
func described(err error, dir string) string {
	if err == nil {
		return "nothing"
	}
	var e *millrace.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return strings.ReplaceAll(fmt.Sprintf("%s: %v", e.Class, e), dir, "${CASE}")
}

// An index does not change the result of a scan of any case, on which all later steps
// depend.
func TestScansOfCasesByIndex(t *testing.T) {
	for _, name := range cases.All(t) {
		p := planned(t, cases.Prepare(t, name), "")
		if p == nil || p.HasRemoteFiles() {
			continue
		}
		want, wantErr := p.Scan(t.Context())
		var paths []string
		for _, f := range p.Files {
			paths = append(paths, f.Path)
		}
		o := &index.Options{Write: true, AllFaults: true, ReaderOptions: tfrecord.ReaderOptions{Compression: p.Manifest.Compression}}
		made, _ := index.Scan(t.Context(), paths, o) // the error is that of p.Scan
		for i, f := range made {
			if f.Index != nil && f.IndexFile == "" {
				t.Errorf("%s: %s has no index", name, paths[i])
			}
		}
		got, err := p.Scan(t.Context())
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: got error %v, without an index %v", name, err, wantErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(tfrecord.Index{}, tfrecord.Layout{}, plan.Scan{})); diff != "" {
			t.Errorf("%s (-scanned +by index)\n%s", name, diff)
		}
	}
}
