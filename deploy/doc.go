// Package deploy tests the files of this folder: manifests for Kubernetes, a unit of systemd, a compose
// file, alert rules of Prometheus and a dashboard of Grafana. Each is checked by its own schema or
// parser, and the server that it describes is started with its arguments.
//
// It is a separate module, so that a program that imports millrace does not get the parsers of
// Prometheus and compose with it.
package deploy
