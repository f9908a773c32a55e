package serving

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"millrace/serving/budget"
	"millrace/serving/internal/answers"
	"millrace/serving/requestlog"
)

// Server keeps models ready. Many goroutines may use it. [Server.Close] ends it.
type Server struct {
	// Memory is the memory that the requests of all interfaces may take together.
	Memory *budget.Budget

	options Options
	loading chan struct{} // has room for the versions that may load at a time
	ending  chan struct{} // the same for unloading; nil: any number
	ctx     context.Context
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup // the polling goroutine, and versions that have not ended
	looking sync.Mutex     // one scan of the file system at a time

	mu       sync.Mutex
	models   map[string]*model
	changed  chan struct{} // closed and replaced when a state changes
	acquired int           // number of requests that have acquired it
	shadows  atomic.Int64  // copies that run or wait

	modelMemory int64 // taken by on-demand models, also while they load or unload
	logs        map[LoggingConfig]*requestlog.Log

	logged atomic.Bool // logs is not empty: requests need no lock to check this
	closed bool

	board board
}

// model is a model and its versions.
type model struct {
	config     ModelConfig
	versions   map[int64]*Version
	answers    *answers.Cache // nil without a cache
	shadows    shadows
	removed    bool // from the configuration
	empty      bool // the base path has no versions
	unreadable bool // the base path cannot be read
}

// has reports whether a version satisfies a condition.
func (m *model) has(is func(*Version) bool) bool {
	for _, v := range m.versions {
		if is(v) {
			return true
		}
	}
	return false
}

// errClosing is the reason why loading ends when a server closes.
var errClosing = errors.New("the server is closing")

// announce wakes the goroutines that wait for a change of state. The caller holds the
// lock.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
	s.board.report(s.models, s.closed)
}

// shadows counts the shadow copies of a model's requests.
type shadows struct{ ran, failed, dropped atomic.Int64 }
