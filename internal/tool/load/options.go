package load

import "time"

// Options say what Run sends. Address and Requests are required.
type Options struct {
	Address     string // host:port of the server
	Connections int    // 0: 1
	// Requests are sent in turn: whole HTTP requests, as Post makes them.
	Requests [][]byte
	// Rate is how many requests arrive a second, whatever the server does. 0: each
	// connection sends its next request when it has its answer.
	Rate float64
	// Duration is how long requests are sent and counted. Before that they are
	// sent for Warm without being counted.
	Warm, Duration time.Duration
	// Grace is how long Run waits for the last answers. 0: 5 s.
	Grace time.Duration
	// OnAnswer is told of each answer that is counted, in the thread that makes the
	// load. The body is valid during the call. Nil: nobody is.
	OnAnswer func(request, status int, body []byte)
}

// Result is what Run has measured.
type Result struct {
	// Answers has the latency of the answers by HTTP status, from the arrival of
	// the request to the end of the answer.
	Answers map[int]*Histogram
	// Lost is how many requests got no answer: the connection ended, or the answer
	// had not come after Grace.
	Lost int64
	// Waited is how many requests found all connections busy when they arrived.
	Waited int64
	// Unsent is how many of these still waited for a connection after Grace.
	Unsent int64
	// Seconds is the time in which requests were counted.
	Seconds float64
	// Processor is the processor time that the generator used in that time.
	Processor time.Duration
}

// OK returns the latencies of the answers with status 200.
func (r *Result) OK() *Histogram { return r.of(200) }

// of returns the latencies of the answers with a status.
func (r *Result) of(status int) *Histogram {
	h := r.Answers[status]
	if h == nil {
		h = &Histogram{}
		r.Answers[status] = h
	}
	return h
}

// Throughput returns how many answers with status 200 came in a second.
func (r *Result) Throughput() float64 { return float64(r.OK().N) / r.Seconds }
