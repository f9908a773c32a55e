package rpc

import (
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"millrace/serving"
)

// healthServices are the names, in addition to the models, for which gRPC's health
// service answers whether the server is ready. The last two are TensorFlow Serving's.
var healthServices = []string{"", predictionService, modelService, "PredictionService", "ModelService"}

// reporter passes the health of a server, and of each model by its name, to gRPC's health service.
type reporter struct {
	to    *health.Server
	known map[string]bool // the models of the last report
}

// report reports a change.
func (r *reporter) report(h serving.Health) {
	for _, name := range healthServices {
		r.to.SetServingStatus(name, state(h.Err == nil))
	}
	for name, available := range h.Models {
		r.to.SetServingStatus(name, state(available))
	}
	for name := range r.known {
		if _, served := h.Models[name]; !served {
			r.to.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN)
		}
	}
	r.known = h.Models
}

// state returns gRPC's status for whether something serves.
func state(serves bool) grpc_health_v1.HealthCheckResponse_ServingStatus {
	if serves {
		return grpc_health_v1.HealthCheckResponse_SERVING
	}
	return grpc_health_v1.HealthCheckResponse_NOT_SERVING
}
