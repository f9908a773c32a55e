package sandbox

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"millrace"
)

// restricted is the state of the process. Restrictions cannot be taken back.
var restricted struct {
	sync.Mutex
	done bool
	now  Protection
}

// Available returns the protection that the kernel offers. It restricts nothing.
func Available() Protection {
	p := Protection{LandlockABI: landlockABI(), Calls: seccompWorks()}
	p.Files, p.Truncate, p.TCP = p.LandlockABI >= 1, p.LandlockABI >= 3, p.LandlockABI >= 4
	p.Signals = p.LandlockABI >= 6 || p.Calls
	p.explain()
	return p
}

// InForce returns the protection of this process, and whether Restrict was called.
func InForce() (p Protection, done bool) {
	restricted.Lock()
	defer restricted.Unlock()
	return restricted.now, restricted.done
}

// Restrict confines the process, all its threads and all programs that it starts to
// the policy, for good. It takes about a millisecond. A second call is an error: one
// policy is easier to understand than the intersection of two.
//
// With mode Require the result is an error if the kernel cannot restrict files, TCP and
// system calls; then the process is not restricted. With Auto the protection that is
// returned says what is missing. Off does nothing.
func Restrict(policy *Policy, mode Mode) (Protection, error) {
	if mode == Off {
		return Protection{Missing: "the sandbox is off"}, nil
	}
	p := Available()
	if mode == Require {
		if err := p.required(); err != nil {
			return p, err
		}
	}
	restricted.Lock()
	defer restricted.Unlock()
	if restricted.done {
		return restricted.now, millrace.Errorf(millrace.ErrInternal, "sandbox.Restrict was called before; a process has one sandbox")
	}
	if p.LandlockABI > 0 {
		if err := restrictLandlock(policy, p.LandlockABI); err != nil {
			return Protection{}, failure("Landlock", err)
		}
	}
	// Seccomp comes last, because its filter refuses the signals by which libpsx
	// reaches threads.
	if p.Calls {
		if err := restrictCalls(policy); err != nil {
			return Protection{}, failure("seccomp", err)
		}
	}
	restricted.done, restricted.now = true, p
	return p, nil
}

// failure returns the error for a restriction that could not be made. The libraries call a lack
// of descriptors a bug of theirs.
func failure(what string, err error) error {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE} {
		if errors.Is(err, errno) {
			return millrace.Errorf(millrace.ErrLimit, "sandbox: %s: %w", what, errno)
		}
	}
	return millrace.Errorf(millrace.ErrIO, "sandbox: %s: %w", what, err)
}
