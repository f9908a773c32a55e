package accept

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// script is a listener whose Accept returns errors, one after the other, and then nil.
type script struct {
	net.Listener
	errs []error
}

func (s *script) Accept() (net.Conn, error) {
	if len(s.errs) == 0 {
		return nil, nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return nil, err
}

func (*script) Close() error { return nil }

// refused is an error of the system as package net returns it.
func refused(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", errno)}
}

// Accept continues after temporary errors, waits longer after each, and returns the
// others.
func TestSteady(t *testing.T) {
	broken := refused(syscall.EBADF)
	l := &script{errs: []error{refused(syscall.EMFILE), refused(syscall.ENFILE), refused(syscall.ECONNABORTED), broken}}
	var pauses []time.Duration
	s := Steady(l).(*steady)
	s.pause = func(d time.Duration) <-chan time.Time {
		pauses = append(pauses, d)
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	if _, err := s.Accept(); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if want := []time.Duration{firstPause, 2 * firstPause, 4 * firstPause}; len(pauses) != 3 || pauses[2] != want[2] {
		t.Errorf("waited %v, want %v", pauses, want)
	}
	if _, err := s.Accept(); err != nil {
		t.Errorf("the next connection: %v", err)
	}
}

// Close ends a wait.
func TestSteadyCloses(t *testing.T) {
	s := Steady(&script{errs: []error{refused(syscall.EMFILE)}}).(*steady)
	s.pause = func(time.Duration) <-chan time.Time {
		s.Close()
		return nil
	}
	if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
