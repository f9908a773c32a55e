// Package service asks the servers of TensorFlow's data service what they do: the
// dispatcher for its workers, and a worker for its tasks. It speaks gRPC by net/http, each
// call with a deadline.
//
//	workers, err := service.Workers(ctx, "dispatcher:5050")
package service
