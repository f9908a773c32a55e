package load

import "time"

// Options are the options of Run. Address and Requests are required.
type Options struct {
	Address     string // host:port of the server
	Connections int    // 0: 1
	// Requests are sent in turn: whole HTTP requests, as Post makes them.
	Requests [][]byte
	// Rate is the number of requests that arrive per second, whatever the server does.
	// 0: each connection sends its next request when it has received its answer.
	Rate float64
	// Duration is the time in which requests are sent and counted. Before it, requests
	// are sent for the time Warm without being counted.
	Warm, Duration time.Duration
	// Grace is the time that Run waits for the last answers. 0: 5 s.
	Grace time.Duration
	// OnAnswer is called for each counted answer, in the thread that makes the load.
	// The body is valid during the call. Nil: no calls.
	OnAnswer func(request, status int, body []byte)
}

// Result is the result of Run.
type Result struct {
	// Answers has the latency of the answers by HTTP status, from the arrival of
	// the request to the end of the answer.
	Answers map[int]*Histogram
	// Lost is the number of requests without an answer: the connection ended, or the
	// answer did not arrive within Grace.
	Lost int64
	// Waited is the number of requests that found all connections busy when they
	// arrived.
	Waited int64
	// Unsent is the number of these that still waited for a connection after Grace.
	Unsent int64
	// Seconds is the time in which requests were counted.
	Seconds float64
	// Processor is the processor time that the generator used in that time.
	Processor time.Duration
}

// OK returns the latencies of the answers with status 200.
func (r *Result) OK() *Histogram { return r.withStatus(200) }

// withStatus returns the latencies of the answers with a status.
func (r *Result) withStatus(status int) *Histogram {
	h := r.Answers[status]
	if h == nil {
		h = &Histogram{}
		r.Answers[status] = h
	}
	return h
}

// Throughput returns the number of answers with status 200 per second.
func (r *Result) Throughput() float64 { return float64(r.OK().N) / r.Seconds }
