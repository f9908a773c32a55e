package loaders_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// largeBuffers returns datasets of each loader type whose buffers hold many times the
// limit of a state.
func largeBuffers(t *testing.T) map[string]*fixture.Dataset {
	t.Helper()
	var lengths [][]int
	for file := range 3 {
		var all []int
		for i := range 10 {
			all = append(all, 20+(7*i+11*file)%40)
		}
		lengths = append(lengths, all)
	}
	data := newSequenceData(lengths)
	shuffles := fixture.Object{
		"shuffle": true, "num_shuffle_buffer_elements": 20, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2,
		"epochs": 2, "seed": 11, "target_batch_size": 4, "padding": true,
	}
	all := map[string]*fixture.Dataset{}
	add := func(name, kind string, args ...fixture.Object) *fixture.Dataset {
		f := newSequence(t, kind, data)
		maps.Copy(f.Args, fixture.Object{"epochs": 2, "seed": 11, "target_batch_size": 4, "padding": true})
		for _, a := range args {
			maps.Copy(f.Args, a)
		}
		if strings.HasSuffix(name, "bad records") {
			content, err := os.ReadFile(f.Path("01.tfrecords"))
			if err != nil {
				t.Fatal(err)
			}
			content[len(content)-9]++ // a byte of the last record
			f.Write(t, "01.tfrecords", content)
		}
		if strings.HasPrefix(name, "compressed") {
			f.Manifest["compression"] = "gzip"
			paths, err := filepath.Glob(f.Path("*.tfrecords"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				f.Write(t, filepath.Base(path), corrupt.Gzip(content))
			}
		}
		all[name] = f
		return f
	}
	chunked := func(name string, args fixture.Object) {
		f := add(name, "chunked_sequence", fixture.Object{"batch_size": 90, "chunk_size": 12, "chunk_step": 7})
		for _, key := range []string{"target_batch_size", "drop_remainder", "shuffle", "padding"} {
			delete(f.Args, key)
		}
		maps.Copy(f.Args, args)
	}
	equal, drawn := fixture.Object{"min_window": 2, "max_window": 2}, fixture.Object{"min_window": 4, "max_window": 9, "tail": "keep"}
	skips := fixture.Object{"bad_records": fixture.Object{"skip": 1}}
	for order, args := range map[string]fixture.Object{
		"buffers": shuffles,
		"exact":   {"shuffle": true, "shuffle_mode": "exact"},
		"block":   {"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 20},
	} {
		add("records, "+order, "independent", args)
		add("windows of records, "+order, "discrete_sequence", args, equal)
	}
	add("records, bad records", "independent", shuffles, skips, fixture.Object{"epochs": 3})
	add("compressed records", "independent", shuffles, fixture.Object{"epochs": 3})
	add("compressed records, bad records", "independent", shuffles, skips)
	add("records in buckets", "independent", shuffles, fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "boundaries": []int{25, 40}}})
	add("windows of lists", "continuous_sequence", shuffles, fixture.Object{"min_window": 5, "max_window": 5})
	add("drawn windows", "continuous_sequence", shuffles, drawn)
	add("drawn windows of records", "discrete_sequence", shuffles, fixture.Object{"min_window": 1, "max_window": 3})
	add("drawn windows, bad records", "continuous_sequence", shuffles, drawn, skips)
	chunked("chunks, shuffled", fixture.Object{"shuffle_chunks": 40})
	chunked("chunks, both shuffled", fixture.Object{"shuffle_seqs": 10, "shuffle_chunks": 40, "seq_ordering": "random", "partition_epoch": 2})
	chunked("chunks, laplace", fixture.Object{"seq_ordering": "laplace:.4"})
	chunked("chunks, bad records", fixture.Object{"shuffle_chunks": 40, "bad_records": fixture.Object{"skip": 1}})
	chunked("whole rows", fixture.Object{"chunk_size": nil, "chunk_step": nil, "shuffle_seqs": 10})
	return all
}

// A state takes at most 4 KB in every mode that shuffles, whatever the buffers hold. A
// run continues exactly there, with the other engine and with other threads, too.
func TestStatesAreSmall(t *testing.T) {
	testruntime.Need(t)
	for name, f := range largeBuffers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			native := openSequence(t, f)
			want, states := textsOf(t, native, &loaders.RunOptions{SaveEvery: 1})
			maps.Copy(f.Args, fixture.Object{"num_parallel_parses": 3, "num_parallel_reads": 2, "num_prefetch": 5})
			general := openGeneral(t, f)
			got, alike := textsOf(t, general, &loaders.RunOptions{SaveEvery: 1})
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 6 {
				t.Fatalf("%d batches (-native +general)\n%s", len(want), diff)
			}
			most := 0
			for i := range states {
				most = max(most, len(states[i]), len(alike[i]))
			}
			if most > mostStateBytes {
				t.Errorf("a state of %d bytes, want at most %d", most, mostStateBytes)
			}
			for i, l := range []*loaders.Loader{native, general, general} {
				at := (i + 1) * (len(want) - 1) / 3
				rest, after := textsOf(t, l, &loaders.RunOptions{State: [][]byte{alike[at], states[at], states[at]}[i], SaveEvery: 1})
				if diff := cmp.Diff(want[at+1:], rest, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("from batch %d (-whole +rest)\n%s", at+1, diff)
				}
				if len(after) > 1 && len(after[0]) > mostStateBytes {
					t.Errorf("behind batch %d a state of %d bytes", at+1, len(after[0]))
				}
			}
		})
	}
}
