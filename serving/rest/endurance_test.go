package rest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/internal/tool/load"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// digitsModel is a model of convolutions, for images of 8 by 8.
const digitsModel = "../../examples/digits/model"

// serveDigits serves a folder of digits, in batches, and returns requests to it.
func serveDigits(t *testing.T, dir string, o *serving.Options) (*serving.Server, load.Options) {
	t.Helper()
	testruntime.Need(t)
	o.Logger = quiet
	s, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "m", BasePath: dir}}, o)
	if err != nil {
		t.Fatal(err)
	}
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet}})
	t.Cleanup(func() { web.Close(); s.Close() })
	return s, digitsLoad(web.address)
}

// digitsLoad returns a load of requests for an image.
func digitsLoad(address string) load.Options {
	row := "[" + strings.Repeat("0.5,", 7) + "1]"
	image := "[" + strings.Repeat(row+",", 7) + row + "]"
	return load.Options{
		Address: address, Connections: 256, Grace: time.Minute,
		Requests: [][]byte{load.Post(address, "/v1/models/m:predict", []byte(`{"instances": [`+image+`]}`))},
	}
}

// measured makes a load. Each request must be answered, with a prediction or a refusal.
func measured(ctx context.Context, t *testing.T, o load.Options) *load.Result {
	t.Helper()
	r, err := load.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for status, h := range r.Answers {
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("%d answers with status %d", h.N, status)
		}
	}
	if r.Lost+r.Unsent != 0 {
		t.Errorf("%d requests were lost, %d not sent", r.Lost, r.Unsent)
	}
	return r
}

// If there are more requests than the queue holds, every one is answered or refused,
// and afterwards none is refused.
func TestOverload(t *testing.T) {
	s, o := serveDigits(t, digitsModel, overloadedOptions())
	o.Duration = time.Second / 4
	if r := measured(t.Context(), t, o); r.OK().N == 0 || r.Answers[http.StatusServiceUnavailable] == nil {
		t.Errorf("%d requests were answered, the others: %v", r.OK().N, r.Answers)
	}
	o.Connections = 4
	if r := measured(t.Context(), t, o); len(r.Answers) != 1 || r.OK().N == 0 {
		t.Errorf("afterwards requests are refused: %v", r.Answers)
	}
	before := tfbridge.LiveBytes()
	measured(t.Context(), t, o)
	if after := tfbridge.LiveBytes(); after != before {
		t.Errorf("tensors took %d bytes, and %d after more requests", before, after)
	}
	s.Close()
}

// A request above the limit is refused before its body is read: the status is 503
// whatever the body contains.
func TestRefusedUnread(t *testing.T) {
	s, o := serveDigits(t, digitsModel, &serving.Options{FileSystemPollWait: -1, MaxConcurrentRequests: 1})
	v, err := s.Acquire(serving.ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusBadRequest} {
		for _, method := range []string{"predict", "classify", "regress"} {
			a, err := http.Post("http://"+o.Address+"/v1/models/m:"+method, "application/json", strings.NewReader("{"))
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			if a.StatusCode != want {
				t.Errorf("%s: got %s, want %d", method, a.Status, want)
			}
		}
		if want == http.StatusServiceUnavailable {
			v.Release()
		}
	}
}

// No request fails while versions repeatedly replace each other.
func TestReloadsUnderLoad(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir, 1)
	s, o := serveDigits(t, dir, &serving.Options{FileSystemPollWait: -1, Batching: &batching.Options{}})
	o.Duration, o.Connections = time.Hour, 16
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan *load.Result)
	go func() {
		r, err := load.Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	last := int64(1 + soak.Rounds(3, 100))
	for n := int64(2); n <= last; n++ {
		publish(t, dir, n)
		if err := s.ReplaceConfig(ctx, []serving.ModelConfig{{Name: "m", BasePath: dir}}); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprint(n-1))); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := s.Acquire(serving.ModelSpec{Name: "m"}); err != nil || v.Number != last {
		t.Errorf("version %+v is served, %v, want %d", v, err, last)
	} else {
		v.Release()
	}
	stop()
	r := <-done
	if r == nil || len(r.Answers) != 1 || r.OK().N == 0 || r.Lost+r.Unsent != 0 {
		t.Errorf("after %d reloads: %+v", last-1, r)
	}
}

// publish adds a version of digits to a folder, in one step.
func publish(t *testing.T, dir string, n int64) {
	t.Helper()
	made := filepath.Join(dir, "new")
	if err := os.CopyFS(made, os.DirFS(digitsModel)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, filepath.Join(dir, fmt.Sprint(n))); err != nil {
		t.Fatal(err)
	}
}
