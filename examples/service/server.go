package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// server answers requests with one model.
type server struct {
	name    string
	model   *graph.Model
	timeout time.Duration // the longest time for a request
	maxBody int64         // the largest request body, in bytes
}

// request is the body of a prediction.
type request struct {
	Signature string          `json:"signature_name"`
	Instances json.RawMessage `json:"instances"` // by row
	Inputs    json.RawMessage `json:"inputs"`    // by column
}

// handler returns the routes.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models/{name}", s.status)
	mux.HandleFunc("GET /v1/models/{name}/metadata", s.metadata)
	mux.HandleFunc("POST /v1/models/{call}", s.predict)
	return mux
}

// status answers that the model is available.
func (s *server) status(w http.ResponseWriter, r *http.Request) {
	if !s.named(w, r.PathValue("name")) {
		return
	}
	reply(w, http.StatusOK, map[string]any{"model_version_status": []any{
		map[string]any{"state": "AVAILABLE", "status": map[string]string{"error_code": "OK"}},
	}})
}

// metadata answers with the inputs and outputs of the model's signatures.
func (s *server) metadata(w http.ResponseWriter, r *http.Request) {
	if !s.named(w, r.PathValue("name")) {
		return
	}
	signatures := map[string]any{}
	for key, sig := range s.model.Signatures() {
		signatures[key] = map[string]any{"inputs": describe(sig.Inputs), "outputs": describe(sig.Outputs)}
	}
	reply(w, http.StatusOK, map[string]any{"model_spec": map[string]string{"name": s.name}, "signatures": signatures})
}

// describe returns the dtypes and shapes of tensors for JSON.
func describe(infos map[string]tfbridge.TensorInfo) map[string]any {
	all := map[string]any{}
	for name, info := range infos {
		all[name] = map[string]any{"dtype": info.DType.String(), "shape": info.Shape.String()}
	}
	return all
}

// named refuses requests for another model.
func (s *server) named(w http.ResponseWriter, name string) bool {
	if name != s.name {
		refuse(w, http.StatusNotFound, "there is no model "+millrace.Quote(name))
	}
	return name == s.name
}

// predict runs a signature on the request's values.
func (s *server) predict(w http.ResponseWriter, r *http.Request) {
	name, verb, _ := strings.Cut(r.PathValue("call"), ":")
	if !s.named(w, name) {
		return
	}
	if verb != "predict" {
		refuse(w, http.StatusNotFound, "models on this server only support :predict")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	var q request
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, s.maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		s.fail(w, r, badRequest{err})
		return
	}
	result, err := s.answer(ctx, &q)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	reply(w, http.StatusOK, result)
}

// answer runs the signature that a request names.
func (s *server) answer(ctx context.Context, q *request) (result any, err error) {
	key := cmp.Or(q.Signature, graph.DefaultSignature)
	sig, ok := s.model.Signatures()[key]
	if !ok {
		return nil, badRequest{errors.New("there is no signature " + millrace.Quote(key))}
	}
	inputs, err := q.tensors(sig.Inputs)
	defer func() {
		for _, t := range inputs {
			err = errors.Join(err, t.(*tfbridge.Tensor).Close())
		}
	}()
	if err != nil {
		return nil, badRequest{err}
	}
	outputs, err := s.model.Call(ctx, key, inputs)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range outputs {
			err = errors.Join(err, t.Close())
		}
	}()
	if q.Instances != nil {
		predictions, err := byRow(outputs)
		return map[string]any{"predictions": predictions}, err
	}
	values, err := byColumn(outputs)
	return map[string]any{"outputs": values}, err
}

// badRequest is an error that the client made.
type badRequest struct{ error }

// Unwrap returns the cause.
func (b badRequest) Unwrap() error { return b.error }

// fail answers with the error. It logs the error unless the client made it.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var bad badRequest
	var long *http.MaxBytesError
	var failed *millrace.Error
	status := http.StatusInternalServerError
	switch {
	case errors.As(err, &long):
		status = http.StatusRequestEntityTooLarge
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.As(err, &failed) && (failed.Class == millrace.ErrModel && failed.Code == 0 || failed.Code == int(tfbridge.InvalidArgument)):
		status = http.StatusBadRequest // the values do not match the model
	case errors.Is(err, millrace.ErrCanceled) && r.Context().Err() == nil:
		status = http.StatusGatewayTimeout
	case errors.Is(err, millrace.ErrClosed), errors.Is(err, millrace.ErrLimit), errors.Is(err, millrace.ErrCanceled):
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusInternalServerError {
		slog.Error("predict", "error", err)
	}
	refuse(w, status, err.Error())
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"error": message})
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		slog.Error("reply", "error", err)
		http.Error(w, `{"error": "the reply cannot be written as JSON"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(append(body, '\n')); err != nil {
		slog.Debug("reply", "error", err) // the client has closed the connection
	}
}

// sortedNames returns the names of a map in order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
