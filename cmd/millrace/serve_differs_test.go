package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/servingproto"
	"millrace/internal/test/testruntime"
)

// differing is a running server with the models of testdata, for the claims of a page.
type differing struct{ url, rpc string }

// post sends a body to a method of a model, and returns the status and the answer.
func (d *differing) post(t *testing.T, method, body string) (int, string) {
	t.Helper()
	code, _, text := ask(t, http.MethodPost, d.url+"/v1/models/"+method, body)
	return code, text
}

// differences are the tests of the section "What differs" in docs/serving.md, by the first words of each
// of its items.
var differences = map[string]func(t *testing.T, d *differing){
	"`--rest_api_port` is 8501": func(t *testing.T, _ *differing) {
		var help bytes.Buffer
		if code := runLine(t.Context(), &cli.Program{Stdout: &help, Stderr: &help}, []string{"serve", "--help"}); code != 0 {
			t.Errorf("code %d", code)
		}
		for _, want := range []string{`--rest_api_port .*\(default 8501\)`, `--host .*\(default "?localhost"?\)`} {
			if !regexp.MustCompile(want).MatchString(help.String()) {
				t.Errorf("the help lacks %s:\n%s", want, &help)
			}
		}
	},
	"A first version that cannot be loaded": func(t *testing.T, _ *differing) {
		base := filepath.Join(t.TempDir(), "m")
		if err := os.MkdirAll(filepath.Join(base, "1"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, "1", "saved_model.pb"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		code := runLine(t.Context(), &cli.Program{Stdout: &log, Stderr: &log}, []string{"serve", "--port", "-1", "--rest_api_port", "-1", "--model", "m=" + base, "--load_retry_interval_micros", "3600000000"})
		if code != 4 || !strings.Contains(log.String(), "saved_model.pb") {
			t.Errorf("code %d\n%s", code, &log)
		}
	},
	"Requests of different shapes": func(t *testing.T, d *differing) {
		var all sync.WaitGroup
		for range 20 {
			for body, want := range map[string]string{`{"instances": [1]}`: "[2.5]", `{"instances": [[1, 2]]}`: "[[2.5,3.0]]", `{"instances": [[[2]]]}`: "[[[3.0]]]"} {
				all.Go(func() {
					if code, text := d.post(t, "half_plus_two:predict", body); code != http.StatusOK || !strings.Contains(text, want) {
						t.Errorf("%s: %d %s", body, code, text)
					}
				})
			}
		}
		all.Wait()
	},
	"A REST body that has a key or an input twice": func(t *testing.T, d *differing) {
		for _, body := range []string{`{"instances": [1], "instances": [2]}`, `{"inputs": {"x": [1], "x": [2]}}`} {
			if code, text := d.post(t, "half_plus_two:predict", body); code != http.StatusBadRequest || !strings.Contains(text, "twice") {
				t.Errorf("%s: %d %s", body, code, text)
			}
		}
	},
	"A string that is not UTF-8": func(t *testing.T, d *differing) {
		code, text := d.post(t, "strings:predict", `{"instances": [{"b64": "/w=="}, "a"]}`)
		if code != http.StatusOK || !strings.Contains(text, `"upper":{"b64":"/w=="}`) || !strings.Contains(text, `"upper":"A"`) {
			t.Errorf("%d %s", code, text)
		}
	},
	"An error says more": func(t *testing.T, d *differing) {
		code, text := d.post(t, "linear:predict", `{"instances": [[1, 2]]}`)
		for _, want := range []string{"serving_default", "x", "[1 2]", "[?, 3]"} {
			if code != http.StatusBadRequest || !strings.Contains(text, want) {
				t.Errorf("%d %s, want %s", code, text, want)
			}
		}
	},
	"The operations of TensorFlow Text": func(t *testing.T, _ *differing) {
		var log bytes.Buffer
		code := runLine(t.Context(), &cli.Program{Stdout: &log, Stderr: &log}, []string{"serve", "--port", "-1", "--rest_api_port", "-1", "--model", "m=nowhere", "--op-library", t.TempDir()})
		if code != 2 && code != 3 || !strings.Contains(log.String(), "the folder has no libraries") {
			t.Errorf("code %d\n%s", code, &log)
		}
	},
	"TensorFlow Serving's own test": nil, // it is not part of this repository
	"Not there": func(t *testing.T, d *differing) {
		conn, err := grpc.NewClient(d.rpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, method := range []string{"/tensorflow.serving.SessionService/SessionRun", "/tensorflow.ProfilerService/Profile"} {
			err := conn.Invoke(t.Context(), method, &servingproto.PredictRequest{}, &servingproto.PredictResponse{})
			if status.Code(err) != codes.Unimplemented {
				t.Errorf("%s: %v", method, err)
			}
		}
	},
}

// Each item of "What differs" in docs/serving.md is true of a server.
func TestWhatDiffers(t *testing.T) {
	testruntime.Need(t)
	page, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n## What differs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	items := regexp.MustCompile(`(?m)^- (.*)$`).FindAllStringSubmatch(section, -1)
	if !ok || len(items) != len(differences) {
		t.Errorf("the page has %d items, the test knows %d", len(items), len(differences))
	}
	args := []string{"--enable_batching"}
	for _, name := range []string{"half_plus_two", "strings", "linear"} {
		args = append(args, "--model", fmt.Sprintf("%[1]s=../../testdata/models/%[1]s", name))
	}
	at, stop := startServe(t, args...)
	defer stop()
	for words, check := range differences {
		if !strings.Contains(section, "\n- "+words) {
			t.Errorf("no item begins with %q", words)
		}
		if check != nil {
			t.Run(words, func(t *testing.T) { check(t, &differing{"http://" + at["http"], at["grpc"]}) })
		}
	}
}
