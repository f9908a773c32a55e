package serving

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"millrace/internal/test/remotetest"
	"millrace/internal/test/testruntime"
)

// upload stores a model below a path of a server of objects. The graph comes last.
func upload(t *testing.T, server *remotetest.Server, to, model string) {
	t.Helper()
	var graph []byte
	err := filepath.WalkDir(testdata+model, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if e.Name() == "saved_model.pb" {
			graph = data
			return err
		}
		server.Put(to+strings.TrimPrefix(path, filepath.Clean(testdata+model)), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Put(to+"/saved_model.pb", graph)
}

// A base path in a store is polled. A version is copied when it is loaded, so that the files
// that the policy has seen are loaded; the copy goes with the version. A store that does not
// answer leaves what is served.
func TestStoredModels(t *testing.T) {
	testruntime.Need(t)
	server := remotetest.NewServer()
	server.Register(t)
	var refuse atomic.Bool
	refused := make(chan bool, 1)
	server.Fault = func(int, *http.Request) (f remotetest.Fault) {
		if !refuse.Load() {
			return f
		}
		select {
		case refused <- true:
		default:
		}
		return remotetest.Fault{Status: 403, Code: "AccessDenied"}
	}
	upload(t, server, "/models/m/1", "half_plus_two")
	s := start(t, ModelConfig{BasePath: "s3://models/m/"}, Options{MaxNumLoadRetries: -1})
	await(t, s, "1 AVAILABLE")
	if n, y, err := predict(t, s, ModelSpec{}, 2); n != 1 || y != 3 || err != nil {
		t.Errorf("version %d gives %v, %v", n, y, err)
	}
	copied := s.models["m"].versions[1].model.Saved().Dir
	if !filepath.IsAbs(copied) {
		t.Errorf("version 1 was loaded from %s", copied)
	}
	refuse.Store(true)
	for range 3 {
		<-refused
	}
	if n, _, err := predict(t, s, ModelSpec{}, 2); n != 1 || err != nil {
		t.Errorf("a store that refuses: version %d, %v", n, err)
	}
	refuse.Store(false)
	upload(t, server, "/models/m/3", "writes_file")
	await(t, s, "3 END with an error, 1 AVAILABLE")
	all, err := s.Status(ModelSpec{Name: "m"})
	if err != nil || !strings.Contains(all[0].Err.Error(), "s3://models/m/3") || strings.Contains(all[0].Err.Error(), os.TempDir()) {
		t.Errorf("a model that writes files: %v, %v", all[0].Err, err)
	}
	upload(t, server, "/models/m/4", "half_plus_three")
	await(t, s, "4 AVAILABLE, 3 END with an error, 1 END")
	if n, y, err := predict(t, s, ModelSpec{}, 2); n != 4 || y != 4 || err != nil {
		t.Errorf("version %d gives %v, %v", n, y, err)
	}
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy of version 1 is left: %v", err)
	}
}
