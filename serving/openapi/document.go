// Package openapi describes the models of a server as an OpenAPI document, made from
// their signatures: for client generators, and for tools that show the possible
// requests.
//
//	mux.Handle("GET /openapi.json", openapi.NewHandler(models))
package openapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/serving"
)

// NewHandler returns a handler that answers with the document of the current models.
func NewHandler(s *serving.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := Document(s)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // an error is a client that has gone
	})
}

// Document returns an OpenAPI document (3.0.3, as JSON) of the models that a server has: the
// paths of TensorFlow Serving's RESTful API and of the Open Inference Protocol, with the latest
// version's signatures. A model without an available version is not in it.
func Document(s *serving.Server) ([]byte, error) {
	paths := object{}
	for _, name := range s.Models() {
		if !available(s, name) { // an on-demand model that is not loaded is left out, too
			continue
		}
		v, err := s.Acquire(serving.ModelSpec{Name: name})
		if err != nil {
			continue
		}
		addModel(paths, v)
		v.Release()
	}
	document := object{
		"openapi": "3.0.3",
		"info":    object{"title": "Millrace", "description": "Models and their signatures.", "version": "1"},
		"paths":   paths,
		"components": object{
			"schemas":         object{"Error": errorSchema(), "InferRequest": inferRequest(), "InferResponse": inferResponse()},
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []any{object{}, object{"bearer": []any{}}},
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "write the OpenAPI document: %w", err)
	}
	return text.Bytes(), nil
}

// available reports whether a version of a model is loaded.
func available(s *serving.Server, name string) bool {
	all, err := s.Status(serving.ModelSpec{Name: name})
	return err == nil && slices.ContainsFunc(all, func(v serving.VersionStatus) bool { return v.State == serving.Available })
}

// addModel adds the paths of a model.
func addModel(paths object, v *serving.Version) {
	at := "/v1/models/" + v.Name
	paths[at] = object{"get": operation(v, "status", "The states of the versions.", nil, object{"type": "object"})}
	paths[at+"/metadata"] = object{"get": operation(v, "metadata", "The signatures.", nil, object{"type": "object"})}
	request, answer := predictSchemas(v)
	if request != nil {
		paths[at+":predict"] = object{"post": operation(v, "predict", "Run a signature: by row with instances, or by column with inputs.", request, answer)}
	}
	at = "/v2/models/" + v.Name
	paths[at] = object{"get": operation(v, "v2metadata", "The inputs and outputs of the default signature.", nil, object{"type": "object"})}
	paths[at+"/infer"] = object{"post": operation(v, "v2infer", "Run a signature by the Open Inference Protocol.", reference("InferRequest"), reference("InferResponse"))}
	if request := generateSchema(v); request != nil {
		o := operation(v, "generate_stream", "Run a signature step by step: an event for each step, with the outputs by name.", request, nil)
		o["responses"].(object)["200"] = object{"description": "Server-sent events.", "content": object{"text/event-stream": object{"schema": object{"type": "string"}}}}
		paths[at+"/generate_stream"] = object{"post": o}
	}
}

// operation returns an operation on a model. A nil request has no body.
func operation(v *serving.Version, id, summary string, request, answer object) object {
	o := object{
		"operationId": id + "_" + v.Name, "summary": summary, "tags": []any{v.Name},
		"responses": object{
			"200":     object{"description": "The answer.", "content": object{"application/json": object{"schema": answer}}},
			"default": object{"description": "What is wrong.", "content": object{"application/json": object{"schema": reference("Error")}}},
		},
	}
	if request != nil {
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": request}}}
	}
	return o
}

// reference returns a reference to a schema of the components.
func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// predictSchemas returns the schemas of a prediction's request and answer: one for each
// form of each signature.
func predictSchemas(v *serving.Version) (request, answer object) {
	var requests, answers []any
	all := v.Signatures()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		sig := all[key]
		if len(sig.Inputs) == 0 || len(sig.Outputs) == 0 {
			continue
		}
		if rows, ok := byRow(sig.Inputs); ok {
			requests = append(requests, body(key, "instances", object{"type": "array", "minItems": 1, "items": rows}))
			if rows, ok := byRow(sig.Outputs); ok {
				answers = append(answers, holding("predictions", object{"type": "array", "items": rows}))
			}
		}
		requests = append(requests, body(key, "inputs", byColumn(sig.Inputs)))
		answers = append(answers, holding("outputs", byColumn(sig.Outputs)))
	}
	if requests == nil {
		return nil, nil
	}
	return object{"anyOf": requests}, object{"anyOf": answers}
}

// generateSchema returns the schema of a request for a sequence: the inputs of one row by name, for each
// signature whose inputs have rows. It returns nil if no signature has such inputs.
func generateSchema(v *serving.Version) object {
	var requests []any
	all := v.Signatures()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		row, ok := rowByName(all[key].Inputs)
		if !ok || len(all[key].Inputs) == 0 {
			continue
		}
		name := object{"type": "string", "enum": []any{key}}
		parameters := object{"type": "object", "properties": object{"signature_name": name, "max_steps": object{"type": "integer", "minimum": 0}}}
		if key != graph.DefaultSignature {
			parameters["required"] = []any{"signature_name"}
			row["required"] = append(row["required"].([]any), "parameters")
		}
		properties := row["properties"].(object)
		properties["id"], properties["parameters"] = object{"type": "string"}, parameters
		requests = append(requests, row)
	}
	if requests == nil {
		return nil
	}
	return object{"anyOf": requests}
}

// body returns the schema of a request to a signature.
func body(key, name string, value object) object {
	o := holding(name, value)
	properties := o["properties"].(object)
	properties["signature_name"] = object{"type": "string", "enum": []any{key}}
	if key != graph.DefaultSignature {
		o["required"] = []any{name, "signature_name"}
	}
	return o
}
