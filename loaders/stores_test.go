package loaders_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/internal/test/remotetest"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/remote"
	"millrace/tfrecord/example"
	"millrace/tfrecord/index"
)

// bucketServer is the server behind the URLs s3:// of this process. TensorFlow keeps a file
// system for good, so all tests use one, with a bucket each.
var bucketServer = remotetest.NewServer()

// storedIn registers the server for a test.
func storedIn(t *testing.T) *remotetest.Server {
	t.Helper()
	bucketServer.Register(t)
	t.Cleanup(func() { bucketServer.Fault = nil })
	return bucketServer
}

// upload stores the files of a dataset in a bucket, with or without the indexes. It returns
// the URL of the config.
func upload(t *testing.T, d *fixture.Dataset, bucket string, indexes bool) string {
	t.Helper()
	err := filepath.WalkDir(d.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || index.IsIndex(path) && !indexes {
			return err
		}
		data, err := os.ReadFile(path)
		bucketServer.Put("/"+bucket+strings.TrimPrefix(path, d.Dir), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return "s3://" + bucket + "/loader.json"
}

// idsAt reads all ids of a config, with our operations or by Go.
func idsAt(t *testing.T, config string, own bool) (ids []int64, err error) {
	t.Helper()
	plan, problems := loaders.Check(config, nil)
	if plan == nil {
		t.Fatal(problems)
	}
	if own && plan.NativeLibrary == "" {
		t.Skip("the native library is not built")
	}
	if !own {
		plan.NativeLibrary = ""
	}
	return readPlan(t, plan)
}

// storedData is orderData as indexed returns it.
func storedData(t *testing.T, args fixture.Object) *fixture.Dataset {
	t.Helper()
	return indexed(t, orderData(t, args))
}

// indexed has the config of a dataset name its folder by a relative path, and writes indexes.
func indexed(t *testing.T, d *fixture.Dataset) *fixture.Dataset {
	t.Helper()
	d.Args["dataset"] = fixture.Object{"type": "dir", "args": fixture.Object{"data_dir": "data"}}
	d.Save(t)
	paths, err := filepath.Glob(d.Path("*.tfrecords"))
	if err == nil {
		_, err = index.Scan(t.Context(), paths, &index.Options{Write: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A config in a bucket gives the batches of a copy on the disk, with our operations and
// without, whatever the order, and while connections are cut.
func TestBatchesOfStores(t *testing.T) {
	testruntime.Need(t)
	server := storedIn(t)
	buffers := fixture.Object{"shuffle": true, "num_shuffle_buffer_elements": 9, "num_filenames_shuffle_buffer": 3, "num_mix_files": 2, "epochs": 2}
	tests := []struct {
		name    string
		args    fixture.Object
		indexes bool
	}{
		{"in-order", fixture.Object{"epochs": 2}, true},
		{"no-index", fixture.Object{"epochs": 2}, false},
		{"exact", exact(2, nil), true},
		{"shard", exact(1, fixture.Object{"shard": fixture.Object{"count": 3, "index": 1}}), true},
		{"buffers", buffers, true},
	}
	cut := func(int, *http.Request) remotetest.Fault { return remotetest.Fault{CutAt: 301} }
	for _, tt := range tests {
		d := storedData(t, tt.args)
		config := upload(t, d, tt.name, tt.indexes)
		for _, own := range []bool{true, false} {
			want, err := idsAt(t, d.Config(), own)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range []func(int, *http.Request) remotetest.Fault{nil, cut} {
				server.Fault = fault
				got, err := idsAt(t, config, own)
				server.Fault = nil
				if err != nil {
					t.Errorf("%s, own operations %v, faults %v: %v", tt.name, own, fault != nil, err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, own operations %v, faults %v (-disk +store)\n%s", tt.name, own, fault != nil, diff)
				}
			}
		}
	}
}

// nativePlan checks a config for our own operations, which read all its files.
func nativePlan(t *testing.T, config string) *loaders.Plan {
	t.Helper()
	plan, problems := loaders.Check(config, nil)
	if plan == nil {
		t.Fatal(problems)
	}
	if plan.NativeLibrary == "" {
		t.Skip("the native library is not built")
	}
	if !plan.Engine().ReadsNatively() {
		t.Fatal("Go reads the files")
	}
	return plan
}

// Our own operations give the batches and the states of local files for every loader type,
// and a run in a bucket resumes from a state of a run on the disk.
func TestTypesOfStores(t *testing.T) {
	testruntime.Need(t)
	storedIn(t)
	all := stateDatasets(t)
	drawn := fixture.Object{"shuffle_seqs": 9, "shuffle_chunks": 4}
	datasets := map[string]*fixture.Dataset{
		"windows": all["continuous"], "windows-shuffled": all["continuous equal shuffled"], "records-shuffled": all["discrete shuffled"],
		"windows-exact": wavesData(t, exact(2, nil)),
		"chunks":        variedSequences(t, nil), "chunks-shuffled": variedSequences(t, drawn),
		"buckets": bucketDataset(t, "", exact(2, fixture.Object{"bucket_by_length": fixture.Object{"tensor": "pos", "axis": 0, "boundaries": []int{3}}})),
		"block":   orderData(t, fixture.Object{"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 10, "epochs": 2}),
	}
	for bucket, d := range datasets {
		indexed(t, d)
		local, stored := openPlan(t, nativePlan(t, d.Config())), openPlan(t, nativePlan(t, upload(t, d, bucket, true)))
		o := &loaders.RunOptions{SaveEvery: 1}
		want, states := textsOf(t, local, o)
		got, _ := textsOf(t, stored, o)
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 2 {
			t.Errorf("%s (-disk +store)\n%s", bucket, diff)
			continue
		}
		at := len(states) / 2
		rest, _ := textsOf(t, stored, &loaders.RunOptions{State: states[at]})
		if diff := cmp.Diff(want[at+1:], rest); diff != "" {
			t.Errorf("%s from batch %d (-disk +store)\n%s", bucket, at+1, diff)
		}
	}
}

// largeRecords has 24 records of a megabyte each in four files, in batches of one.
func largeRecords(t *testing.T) *fixture.Dataset {
	t.Helper()
	d := fixture.New(t)
	d.Args["target_batch_size"], d.Args["drop_remainder"], d.Args["seed"] = 1, false, 3
	padding := []byte(strings.Repeat("x", 1<<20))
	for i := range int64(4) {
		var records [][]byte
		for j := range int64(6) {
			records = append(records, example.Marshal([]example.Named{
				{Name: "id", Feature: fixture.Ints(6*i + j)}, {Name: "xs", Feature: fixture.Floats(1, 2)},
				{Name: "rest", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{padding}}},
			}))
		}
		d.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), records...)
	}
	return d
}

// A batch of a large dataset with indexes takes a few megabytes, in every order.
func TestBytesOfStores(t *testing.T) {
	testruntime.Need(t)
	server := storedIn(t)
	d := largeRecords(t)
	plain := maps.Clone(d.Args)
	for order, args := range map[string]fixture.Object{
		"in-order": {}, "exact": exact(1, nil), "shard": {"shard": fixture.Object{"count": 3, "index": 1}},
		"buffers": {"shuffle": true, "num_shuffle_buffer_elements": 2, "num_filenames_shuffle_buffer": 2, "num_mix_files": 2},
		"block":   {"shuffle": true, "shuffle_mode": "block", "num_shuffle_buffer_elements": 2},
	} {
		d.Args = maps.Clone(plain)
		maps.Copy(d.Args, args)
		indexed(t, d)
		l := openPlan(t, nativePlan(t, upload(t, d, "large-"+order, true)))
		before := server.Sent()
		for _, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		l.Close()
		if sent := server.Sent() - before; sent > 8<<20 {
			t.Errorf("%s: one batch took %d bytes", order, sent)
		}
	}
}

// An index lets a loader begin after few requests. A list with signed URLs shows no
// signature.
func TestRequestsOfLoader(t *testing.T) {
	testruntime.Need(t)
	server := storedIn(t)
	d := storedData(t, exact(1, nil))
	d.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{"manifest_file": "data/__manifest__.json", "list_file": "list.txt"}}
	d.Save(t)
	list := "\ndata/4.tfrecords\ns3://few/data/2.tfrecords\n"
	if err := os.WriteFile(filepath.Join(d.Dir, "list.txt"), []byte(list), 0o666); err != nil {
		t.Fatal(err)
	}
	config := upload(t, d, "few", true)
	before := len(server.Requests())
	ids, err := idsAt(t, config, true)
	if err != nil || len(ids) != 31+12 {
		t.Errorf("%d ids, %v", len(ids), err)
	}
	n := 0
	for _, r := range server.Requests()[before:] {
		if strings.Contains(r, ".tfrecords") {
			n++
		}
	}
	if n > 2*4 { // the size, the index, the data, and whether it has changed
		t.Errorf("%d requests for two files: %q", n, server.Requests()[before:])
	}
}

// A run whose context ends does not wait for a server that does not answer, and the next
// run reads the files.
func TestCanceledStores(t *testing.T) {
	testruntime.Need(t)
	server := storedIn(t)
	testCanceledStore(t, server, upload(t, storedData(t, fixture.Object{"epochs": 1}), "hangs", false), 51)
	d := largeRecords(t)
	maps.Copy(d.Args, exact(1, nil))
	testCanceledStore(t, server, upload(t, indexed(t, d), "hangs-exact", true), 24)
}

func testCanceledStore(t *testing.T, server *remotetest.Server, config string, records int) {
	t.Helper()
	plan := nativePlan(t, config)
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var hung []*http.Request
	server.Fault = func(_ int, r *http.Request) remotetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		hung = append(hung, r)
		cancel()
		return remotetest.Fault{Hang: true}
	}
	for _, err := range l.Batches(ctx) {
		if !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("got %v, want that the run was canceled", err)
		}
	}
	if err := l.Close(); err != nil || len(hung) == 0 {
		t.Errorf("%d requests have no answer, %v", len(hung), err)
	}
	server.Fault = nil
	for _, r := range hung {
		if strings.Contains(fmt.Sprint(context.Cause(r.Context())), "in time") {
			t.Error("the run has waited for the deadline of a request")
		}
	}
	if ids, err := readPlan(t, plan); err != nil || len(ids) != records {
		t.Errorf("%d ids after the canceled run, %v", len(ids), err)
	}
}

// An object that is replaced while it is read is an error that says so, and one that is
// missing is named with its line.
func TestFaultsOfStores(t *testing.T) {
	testruntime.Need(t)
	server := storedIn(t)
	d := storedData(t, fixture.Object{"epochs": 3})
	for i := range orderSizes {
		d.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(0, 9000)...)
	}
	config := upload(t, d, "replaced", false)
	for _, own := range []bool{true, false} {
		upload(t, d, "replaced", false)
		plan, problems := loaders.Check(config, nil)
		if plan == nil {
			t.Fatal(problems)
		}
		if own && plan.NativeLibrary == "" {
			continue
		}
		if !own {
			plan.NativeLibrary = ""
		}
		server.Put("/replaced/data/3.tfrecords", server.Object("/replaced/data/3.tfrecords")[:100_000])
		_, err := readPlan(t, plan)
		if !errors.Is(err, millrace.ErrIO) || !errors.Is(err, remote.ErrChanged) || !strings.Contains(err.Error(), "s3://replaced/data/3.tfrecords") {
			t.Errorf("own operations %v: %v", own, err)
		}
	}
	d.Args["dataset"] = fixture.Object{"type": "list", "args": fixture.Object{"manifest_file": "data/__manifest__.json", "list_file": "list.txt"}}
	d.Save(t)
	list := "s3://replaced/data/0.tfrecords\ns3://replaced/none?signature=secret\nhdfs://a/b\n"
	if err := os.WriteFile(filepath.Join(d.Dir, "list.txt"), []byte(list), 0o666); err != nil {
		t.Fatal(err)
	}
	_, problems := loaders.Check(d.Config(), nil)
	for _, want := range []string{"list.txt:2: s3://replaced/none: http://s3.test answers NoSuchKey", `list.txt:3: unknown scheme "hdfs"`, "reads paths without a scheme and those of file, gs, ram, s3"} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("%v lacks %s", problems, want)
		}
	}
	if strings.Contains(problems.Error(), "secret") {
		t.Errorf("a secret in %v", problems)
	}
}
