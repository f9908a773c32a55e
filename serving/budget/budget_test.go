package budget

import (
	"bytes"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"testing/iotest"

	"millrace"
	"millrace/tfbridge"
)

// A request that does not fit is refused, and the memory of a lease returns when it
// ends.
func TestLease(t *testing.T) {
	b := New(8 << 20) // 7 MiB for long requests
	first, second, third := b.Lease(), b.Lease(), b.Lease()
	if err := first.Grow(5 << 20); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		n    int64
		want millrace.Class
	}{{3 << 20, millrace.ErrOverloaded}, {7<<20 + 1, millrace.ErrLimit}, {math.MaxInt64, millrace.ErrLimit}} {
		for _, refuse := range []func(int64) error{second.Grow, second.Check} {
			err := refuse(tt.n)
			var e *millrace.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Code != int(tfbridge.ResourceExhausted) && tt.want == millrace.ErrOverloaded {
				t.Errorf("%d bytes more: %v, want the class %v", tt.n, err, tt.want)
			}
		}
	}
	if b.Refused() != 6 || b.InUse() != 5<<20 {
		t.Errorf("%d refusals, %d bytes in use", b.Refused(), b.InUse())
	}
	if err := second.Grow(2 << 20); err != nil {
		t.Errorf("what is left for long requests: %v", err)
	}
	if err := second.Grow(1); !errors.Is(err, millrace.ErrOverloaded) {
		t.Errorf("a byte more for a long request: %v", err)
	}
	if err := third.Grow(short); err != nil {
		t.Errorf("a short request: %v", err)
	}
	if err := third.Grow(1); !errors.Is(err, millrace.ErrOverloaded) {
		t.Errorf("a short request that becomes long: %v", err)
	}
	rest := first.Split(1 << 20)
	first.Close()
	first.Close()
	second.Shrink(1 << 20)
	if got, want := b.InUse(), int64(2<<20+short); got != want {
		t.Errorf("%d bytes in use, want %d", got, want)
	}
	second.Close()
	third.Close()
	rest.Close()
	if b.InUse() != 0 {
		t.Errorf("%d bytes in use at the end", b.InUse())
	}
}

func TestNoBudget(t *testing.T) {
	var l Lease
	if err := errors.Join(l.Check(math.MaxInt64), l.Grow(math.MaxInt64), l.Close()); err != nil {
		t.Error(err)
	}
}

// Many concurrent requests never take more than the limit, and return all memory.
func TestLeaseHammer(t *testing.T) {
	b := New(1 << 20)
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for i := range 20_000 {
				l := b.Lease()
				for range 3 {
					_ = l.Grow(int64(i) << 5) // refused or not
					if used := b.InUse(); used > b.Limit() {
						t.Errorf("%d bytes in use", used)
					}
				}
				l.Close()
			}
		})
	}
	work.Wait()
	if b.InUse() != 0 || b.Refused() == 0 {
		t.Errorf("%d bytes in use, %d refusals", b.InUse(), b.Refused())
	}
}

func TestLimit(t *testing.T) {
	if n := New(0).Limit(); n != DefaultLimit() || n < 1<<20 || n > 1<<50 {
		t.Errorf("the default is %d bytes", n)
	}
	b := New(-1)
	l := b.Lease()
	defer l.Close()
	if err := l.Grow(1 << 50); err != nil || b.InUse() != 1<<50 {
		t.Errorf("without a limit: %v, %d bytes", err, b.InUse())
	}
}

func BenchmarkLease(b *testing.B) {
	all := New(1 << 30)
	b.ReportAllocs()
	for b.Loop() {
		l := all.Lease()
		for range 3 {
			_ = l.Grow(1 << 10)
		}
		l.Close()
	}
}

// A body is read into memory that the budget counts: as much as the text has, whatever length the
// client claims, and no more than its capacity.
func TestReadAll(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 30_000)
	for _, length := range []int64{-1, int64(len(want)), 10, 1 << 40} {
		b := New(8 << 20)
		l := b.Lease()
		got, err := l.ReadAll(nil, iotest.HalfReader(bytes.NewReader(want)), length)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("length %d: %d bytes, %v", length, len(got), err)
		}
		if b.InUse() < int64(len(want)) || b.InUse() > 3*int64(len(want)) || l.Held() != b.InUse() {
			t.Errorf("length %d: %d bytes in use for %d", length, b.InUse(), len(want))
		}
		l.Close()
	}
	b := New(8 << 20)
	l := b.Lease()
	if _, err := l.ReadAll(make([]byte, 0, 1<<20), bytes.NewReader(want), int64(len(want))); err != nil || b.InUse() != int64(len(want)) {
		t.Errorf("in memory that was there: %d bytes in use, %v", b.InUse(), err)
	}
	l.Close()
	l = b.Lease()
	if _, err := l.ReadAll(nil, io.LimitReader(endless{}, 1<<40), -1); !errors.Is(err, millrace.ErrOverloaded) && !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("an endless body: %v", err)
	}
	l.Close()
	if b.InUse() != 0 {
		t.Errorf("%d bytes in use at the end", b.InUse())
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
