// Package load measures a server: it sends requests over many connections and records
// the latency of each answer.
//
//	result, err := load.Run(ctx, load.Options{
//		Address: "localhost:8501", Connections: 256, Duration: 5 * time.Second,
//		Requests: [][]byte{load.Post("localhost:8501", "/v1/models/m:predict", body)},
//	})
//
// Benchmarks and endurance tests use it. It runs on Linux.
package load

/*
How the generator stays honest and cheap

The generator shares the processors with the server that it measures. So one
thread serves all connections with epoll, sends requests that were written
beforehand, and looks no closer at an answer than it must. A request costs it a
write, a read and a part of an epoll_wait. Result.Processor says how much
processor time that took.

With a Rate the load is open: the times of arrival are drawn before anything is
measured, as a Poisson process, and a slow answer delays none of them.

	arrivals   |   |       | |     |          |
	           v   v       v v     v          v
	connection a   b       c d     a         (all busy: waits for the first free one)

The latency of a request counts from its arrival, not from the moment when a
connection was free to send it. A generator that sends the next request after
the last answer would leave out the requests that a stalled server keeps away
("coordinated omission"), and would show the stall once, in place of a hundred
times.

Without a Rate the load is closed: each connection sends its next request as soon
as it has the last answer. That measures throughput, and the latency that so many
callers see then.
*/
