// Package page is the page of a model server in the browser: its models with their
// versions and signatures, a form that sends a request, and live figures.
//
// The page is plain HTML, CSS and JavaScript that the program holds. It loads nothing
// from elsewhere, uses the same paths as every client, and takes its figures from
// /metrics. Data from a model's files or a client's requests is only displayed as text.
package page

import (
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"millrace/loaders"
	"millrace/serving"
	"millrace/tfbridge"
)

//go:embed static
var static embed.FS

// policy lets the page run scripts and load data only from files of its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// NewHandler returns a handler of the path "/" and of those below "/page/". The page
// needs the handler of package rest at "/v1/", and figures of package metrics at
// "/metrics". Many goroutines may use it.
func NewHandler(s *serving.Server) http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "page.html") })
	mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(files)))
	mux.HandleFunc("GET /page/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(describe(s)) // an error means that the client has gone
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// model is a model in the form for the page.
type model struct {
	Name     string    `json:"name"`
	Versions []version `json:"versions"` // the highest number first
}

type version struct {
	Number     string      `json:"number"` // JavaScript's numbers are too small
	State      string      `json:"state"`
	Error      string      `json:"error,omitempty"`
	Signatures []signature `json:"signatures,omitempty"` // signatures of an available version
}

// describe returns the models of a server.
func describe(s *serving.Server) []model {
	models := []model{}
	for _, name := range s.Models() {
		m := model{Name: name, Versions: []version{}}
		all, _ := s.Status(serving.ModelSpec{Name: name}) // an error: the model has just gone
		for _, status := range all {
			v := version{Number: strconv.FormatInt(status.Version, 10), State: status.State.String()}
			if status.Err != nil {
				v.Error = status.Err.Error()
			}
			if status.State == serving.Available {
				v.Signatures = signaturesOf(s, name, status.Version)
			}
			m.Versions = append(m.Versions, v)
		}
		models = append(models, m)
	}
	return models
}

// signaturesOf returns the signatures of a version, none if it cannot be acquired.
func signaturesOf(s *serving.Server, name string, number int64) []signature {
	v, err := s.Acquire(serving.ModelSpec{Name: name, Version: number, HasVersion: true})
	if err != nil {
		return nil
	}
	defer v.Release()
	var all []signature
	for _, key := range sortedKeys(v.Signatures()) {
		sig := v.Signatures()[key]
		all = append(all, signature{Key: key, Method: sig.MethodName, Inputs: tensors(sig.Inputs), Outputs: tensors(sig.Outputs), Features: features(v.Loader(key))})
	}
	return all
}

type signature struct {
	Key      string   `json:"key"`
	Method   string   `json:"method"`
	Inputs   []tensor `json:"inputs"`
	Outputs  []tensor `json:"outputs"`
	Features []tensor `json:"features,omitempty"` // the features that its loader reads
}

type tensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"` // -1: any; null: any rank
}

// tensors describes the inputs or outputs of a signature.
func tensors(infos map[string]tfbridge.TensorInfo) []tensor {
	all := []tensor{}
	for _, name := range sortedKeys(infos) {
		t := tensor{Name: name, DType: infos[name].DType.String(), Shape: infos[name].Shape.Dims()}
		if t.Shape == nil && infos[name].Shape.NumDimensions() == 0 {
			t.Shape = []int64{}
		}
		all = append(all, t)
	}
	return all
}

// features describes the features that a loader reads from a record.
func features(plan *loaders.Plan) []tensor {
	if plan == nil {
		return nil
	}
	var all []tensor
	for _, f := range plan.Features {
		t := tensor{Name: f.Name, DType: string(f.Kind), Shape: append([]int64{}, f.TensorShape()...)}
		if f.Kind == "raw" {
			t.DType = f.DType.String()
		}
		all = append(all, t)
	}
	return all
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
