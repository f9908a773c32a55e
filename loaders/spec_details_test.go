package loaders_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/loaders"
	"millrace/loaders/decl"
	"millrace/loaders/spec"
	stagecheck "millrace/loaders/stage/check"

	"github.com/google/go-cmp/cmp"
)

// checked returns the plan of a dataset with files of records, and the warnings.
func checked(t *testing.T, d *fixture.Dataset, files int, o *loaders.CheckOptions) (*loaders.Plan, string) {
	t.Helper()
	for i := range files {
		d.WriteRecords(t, fmt.Sprintf("%d.tfrecords", i), fixture.Record(int64(i)))
	}
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), o)
	return plan, problems.Error()
}

// The number of files that are read at the same time is at most the number of files
// that are read in turns, which is at most the number of files.
func TestFilesAtATime(t *testing.T) {
	for _, tt := range []struct {
		shuffle       bool
		files         int
		reads, mix    int64
		want, wantMix int64
		warned        string
	}{
		{false, 3, 1, 0, 1, 0, ""},
		{false, 3, 2, 0, 1, 0, "2 is used as 1, because no more files are read in turns"},
		{true, 3, 2, 2, 2, 2, ""},
		{true, 3, 3, 2, 2, 2, "3 is used as 2"},
		{true, 1, 2, 2, 1, 1, "2 is used as 1"},
		{true, 3, 1, 2, 1, 2, ""},
	} {
		d := fixture.New(t)
		d.Args["num_parallel_reads"] = tt.reads
		if tt.shuffle {
			shuffled(d)
			d.Args["num_parallel_reads"], d.Args["num_mix_files"] = tt.reads, tt.mix
		}
		plan, warned := checked(t, d, tt.files, nil)
		if plan == nil {
			t.Fatal(warned)
		}
		mix := int64(0)
		if plan.Shuffle != nil {
			mix = plan.Shuffle.MixFiles
		}
		if plan.ParallelReads != tt.want || mix != tt.wantMix || !strings.Contains(warned, tt.warned) || tt.warned == "" && strings.Contains(warned, "in turns") {
			t.Errorf("%+v: %d files at a time, %d in turns: %s", tt, plan.ParallelReads, mix, warned)
		}
	}
}

// Boundaries continue to double where batches are counted in elements.
func TestDoubledBoundaries(t *testing.T) {
	d := bucketDataset(t, "", fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "axis": 0, "boundaries": []int{3, 5}}})
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]int64{3, 5}, plan.Bucket.Boundaries); diff != "" {
		t.Errorf("boundaries (-want +got)\n%s", diff)
	}
	d.Args["batch_by_elements"] = 100
	d.Save(t)
	if plan, problems = loaders.Check(d.Config(), nil); plan == nil {
		t.Fatal(problems)
	}
	b := plan.Bucket.Boundaries
	last := len(b) - 1
	if diff := cmp.Diff([]int64{3, 5, 10, 20, 40}, b[:5]); diff != "" || b[last] != spec.MaxDimension || b[last-1] >= spec.MaxDimension || 2*b[last-1] < spec.MaxDimension {
		t.Errorf("boundaries end with %v, (-want +got)\n%s", b[last-1:], diff)
	}
}

// The check of a config that is a part of another file depends only on its own
// problems, and not on those that the file had before.
func TestCheckPartOfABadFile(t *testing.T) {
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Record(1))
	d.Save(t)
	config, problems := spec.ReadConfig(d.Config())
	if config == nil {
		t.Fatal(problems)
	}
	r := &decl.Reporter{File: d.Config(), Class: millrace.ErrConfig, Limit: millrace.ErrLimit}
	r.Report(config.At, "a problem of another part")
	plan, problems := loaders.CheckPart(r, config, nil)
	if plan == nil || problems.HasErrors() || r.Errors() != 1 {
		t.Errorf("plan %v, %v, %d errors", plan != nil, problems, r.Errors())
	}
	keep := &loaders.CheckOptions{Keep: []string{"id", "nothing", "id"}}
	plan, _ = loaders.CheckPart(r, config, keep)
	if text := r.Finish().Error(); plan != nil || r.Errors() != 3 || !strings.Contains(text, "no feature is named \"nothing\"") || !strings.Contains(text, `"id" is to be kept twice`) {
		t.Errorf("plan %v, %s", plan != nil, text)
	}
	bad, problems := spec.ReadConfig(filepath.Join(d.Dir, "none.json"))
	if bad != nil || !errors.Is(problems, os.ErrNotExist) {
		t.Errorf("no config: %v, %v", bad, problems)
	}
	d.Args["epochs"] = "two"
	d.Save(t)
	if bad, problems := spec.ReadConfig(d.Config()); bad != nil || !problems.HasErrors() {
		t.Errorf("a bad config: %v, %v", bad, problems)
	}
}

// Options have their effect: the seed, the root, the limit of memory, the tensors to
// keep.
func TestCheckOptionsCount(t *testing.T) {
	d := fixture.New(t)
	seed := int64(77)
	plan, text := checked(t, d, 1, &loaders.CheckOptions{Seed: &seed, CheckRecords: true, Keep: []string{"id"}, Root: d.Dir, MemoryLimit: 1 << 30})
	if plan == nil || plan.Seed != 77 || !plan.CheckRecords {
		t.Errorf("plan %+v: %s", plan, text)
	}
	for want, o := range map[string]*loaders.CheckOptions{
		"the pipeline's buffers need at least": {MemoryLimit: 1},
		"no feature is named \"label\"":        {Keep: []string{"label"}},
		"leads out of":                         {Root: t.TempDir()},
		"open the root":                        {Root: filepath.Join(d.Dir, "none")},
	} {
		if plan, text := checked(t, d, 1, o); plan != nil || !strings.Contains(text, want) {
			t.Errorf("%+v: got %v, %s\nwant %s", o, plan != nil, text, want)
		}
	}
}

// Checking leaves no file open, within a root and without, whatever the mistakes are.
func TestCheckClosesFiles(t *testing.T) {
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Record(1))
	d.Save(t)
	before := open()
	for range 10 {
		loaders.Check(d.Config(), &loaders.CheckOptions{Root: d.Dir})
		loaders.Check(d.Config(), &loaders.CheckOptions{Root: d.Data()})
		spec.ReadConfig(d.Config())
		spec.ReadManifest(d.Path("__manifest__.json"))
		if plan, _ := loaders.Check(d.Config(), nil); plan == nil || stagecheck.FindBadRecord(t.Context(), plan.Spec) != nil {
			t.Fatal("the dataset is bad")
		}
	}
	if after := open(); after > before+3 {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

// The error for a folder without data files names some of the files in it, likely ones
// first and no more than three.
func TestFolderWithoutDataFiles(t *testing.T) {
	for _, tt := range []struct {
		files []string
		want  string
	}{
		{nil, ""},
		{[]string{"notes.txt"}, `it holds notes.txt; the key "pattern"`},
		{[]string{"a.txt", "x.tfrecord"}, `it holds x.tfrecord, a.txt; to read them, write "pattern": "*.tfrecord"`},
		{[]string{"a", "b", "c", "d", "z-00000-of-00001"}, `it holds z-00000-of-00001, a, b and 2 more`},
	} {
		d := fixture.New(t)
		for _, name := range tt.files {
			d.Write(t, name, nil)
		}
		_, text := checked(t, d, 0, nil)
		if !strings.Contains(text, "no .tfrecords file in") || !strings.Contains(text, tt.want) || tt.want == "" && strings.Contains(text, "it holds") {
			t.Errorf("%v: %s\nwant %s", tt.files, text, tt.want)
		}
	}
}
