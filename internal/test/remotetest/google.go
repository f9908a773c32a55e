package remotetest

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// googlePath begins the paths of Google's interface.
const googlePath = "/storage/v1/b/"

// generation returns what Google calls the version of an object.
func generation(sum [md5.Size]byte) string {
	return strconv.FormatUint(binary.LittleEndian.Uint64(sum[:])>>1, 10)
}

// google answers a request to Google's interface.
func (s *Server) google(r *http.Request, f Fault) *http.Response {
	bucket, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, googlePath), "/o")
	q := r.URL.Query()
	if name == "" {
		return s.googleList(r, "/"+bucket+"/")
	}
	data := s.Object("/" + bucket + name)
	if data == nil {
		return answer(r, http.StatusNotFound, []byte("Not Found"))
	}
	if r.Method == http.MethodDelete {
		s.Delete("/" + bucket + name)
		return answer(r, http.StatusNoContent, nil)
	}
	version := generation(s.sum("/" + bucket + name))
	if want := q.Get("ifGenerationMatch"); want != "" && want != version {
		return answer(r, http.StatusPreconditionFailed, nil)
	}
	if q.Get("alt") != "media" {
		text, _ := json.Marshal(googleObject("", version, data))
		return answer(r, http.StatusOK, text)
	}
	plain := r.Clone(r.Context())
	plain.URL.Path = "/" + bucket + name
	a := s.get(plain, f)
	a.Header.Del("ETag")
	a.Header.Set("X-Goog-Generation", version)
	return a
}

func googleObject(name, version string, data []byte) map[string]string {
	return map[string]string{
		"name": name, "size": fmt.Sprint(len(data)), "generation": version, "updated": time.Unix(1700000000, 0).UTC().Format(time.RFC3339),
	}
}

// googleList lists a bucket, a page of two objects at a time.
func (s *Server) googleList(r *http.Request, bucket string) *http.Response {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	var page struct {
		Next  string              `json:"nextPageToken,omitempty"`
		Items []map[string]string `json:"items,omitempty"`
	}
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		key, ok := strings.CutPrefix(path, bucket)
		if !ok || !strings.HasPrefix(key, q.Get("prefix")) || key <= q.Get("pageToken") {
			continue
		}
		if len(page.Items) == pageSize {
			page.Next = page.Items[pageSize-1]["name"]
			break
		}
		page.Items = append(page.Items, googleObject(key, generation(s.sums[path]), s.objects[path]))
	}
	text, _ := json.Marshal(page)
	return answer(r, http.StatusOK, text)
}
