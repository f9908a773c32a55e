// Package rpc answers gRPC requests from models: TensorFlow Serving's
// PredictionService and ModelService, and gRPC's own health service. Clients of
// TensorFlow Serving work unchanged.
//
//	listener, err := net.Listen("tcp", "localhost:8500")
//	...
//	server := rpc.NewServer(models, nil)
//	go server.Serve(listener)
//	...
//	server.GracefulStop()
package rpc

// The names of TensorFlow Serving's services.
const (
	predictionService = "tensorflow.serving.PredictionService"
	modelService      = "tensorflow.serving.ModelService"
)
