package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"millrace/remote"
	"millrace/remote/web"
	"millrace/tfrecord"
)

// Reading of remote files. Eight files at once are read from a server in this process, which
// answers after some milliseconds as a store does: by package tfrecord, which requests ranges
// and checks every record, and by net/http alone, which requests each file whole.
const (
	remoteFiles   = 8
	remoteBytes   = 64 << 20 // size of each file
	remoteLatency = 10 * time.Millisecond
	remoteTarget  = 0.8
)

// remoteKinds are the sizes of the records.
var remoteKinds = []struct {
	name  string
	bytes int
}{{"records of 1 MB", 1_000_000}, {"records of 300 bytes", 300}}

// runRemote measures and reports. It returns whether the target is met.
func runRemote(ctx context.Context, s settings, out io.Writer) (bool, error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tmillrace\tnet/http\tratio\ttarget\t")
	all := true
	for _, kind := range remoteKinds {
		server := newRemoteServer(kind.bytes)
		var ours, plain, ratios []float64
		for range s.rounds {
			a, err := remoteRate(ctx, server, readRecords)
			if err != nil {
				server.Close()
				return false, err
			}
			b, err := remoteRate(ctx, server, readWhole)
			if err != nil {
				server.Close()
				return false, err
			}
			ours, plain, ratios = append(ours, a), append(plain, b), append(ratios, a/b)
		}
		server.Close()
		ratio := middle(ratios)
		all = all && ratio >= remoteTarget
		fmt.Fprintf(w, "read %d remote files at once, %s\t%.0f MB/s\t%.0f MB/s\t%.2f\tat least %.1f\t\n", remoteFiles, kind.name, middle(ours), middle(plain), ratio, remoteTarget)
	}
	return all, w.Flush()
}

// newRemoteServer serves one file of records by every path.
func newRemoteServer(record int) *httptest.Server {
	var file bytes.Buffer
	records := tfrecord.NewWriter(&file, tfrecord.None)
	data := bytes.Repeat([]byte("0123456789"), record/10)
	for file.Len() < remoteBytes {
		records.Write(data) // a buffer takes everything
	}
	records.Close()
	content := file.Bytes()
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(remoteLatency)
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
}

// remoteRate returns the megabytes per second of reading all files at once.
func remoteRate(ctx context.Context, server *httptest.Server, read func(ctx context.Context, url string) (int64, error)) (float64, error) {
	remote.Default = remote.NewClient(remote.Options{}) // without blocks of an earlier round
	remote.Register("http", web.New(nil))
	begin := time.Now()
	sizes := make([]int64, remoteFiles)
	group, ctx := errgroup.WithContext(ctx)
	for i := range sizes {
		group.Go(func() (err error) {
			sizes[i], err = read(ctx, fmt.Sprintf("%s/%d.tfrecords", server.URL, i))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	total := int64(0)
	for _, n := range sizes {
		total += n
	}
	return float64(total) / 1e6 / time.Since(begin).Seconds(), nil
}

// readRecords reads a file record by record, and returns the bytes of the file.
func readRecords(_ context.Context, url string) (n int64, err error) {
	r, err := tfrecord.OpenFile(url, nil)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		data, err := r.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += int64(len(data)) + tfrecord.FrameBytes
	}
}

// readWhole reads a file as net/http gives it.
func readWhole(ctx context.Context, url string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	a, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	return io.CopyBuffer(struct{ io.Writer }{io.Discard}, a.Body, make([]byte, 256<<10))
}
