// Package cluster joins a process to the others that train with it: it reads who they are
// from a config or from TF_CONFIG, starts TensorFlow's gRPC server for this process, and
// has all processes compare what they are about to train.
//
// The servers listen on every interface, without encryption or authentication, and run any
// graph that somebody sends: their ports must be closed to all machines but the cluster's.
package cluster
