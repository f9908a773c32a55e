package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter is a program for the kernel's BPF machine, which sees the system call's
// number and arguments, but no memory that an argument points to:
//
//	architecture is another one?          -> ENOSYS
//	number of x32's calls (amd64)?        -> ENOSYS
//	for each rule: number is the rule's?  -> the rule decides, by arguments
//	                                      -> allow
//
// Calls without a rule are allowed, because a list of the calls that TensorFlow, glibc
// and Go may make would break with each new version of them. The kernel finds out once
// which calls the filter allows whatever their arguments are, and does not run it for
// those again (Linux 5.11), so that reads and futexes cost nothing.
//
// github.com/elastic/go-seccomp-bpf writes such programs, too. It allows all calls of other
// architectures, and compares an argument with the next rule's number after a condition
// that did not hold, so a list of exceptions like ours may refuse what it should allow.

// rule decides about a system call.
type rule struct {
	call   uint32
	errno  unix.Errno // the result of refused calls
	unless [][]test   // the call is allowed if all tests of one of these lists hold
}

// test compares the lower 32 bits of an argument, after a mask. All arguments in our rules
// are ints to the kernel.
type test struct {
	argument   int
	mask, want uint32
	not        bool // the argument must differ
}

// Offsets in the kernel's struct seccomp_data, on little-endian machines.
const (
	numberOffset   = 0
	archOffset     = 4
	argumentOffset = 16
	argumentSize   = 8
)

// Results of a filter.
const (
	resultAllow = unix.SECCOMP_RET_ALLOW
	resultErrno = unix.SECCOMP_RET_ERRNO
)

// program returns the filter for the rules.
func program(rules []rule) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		refuse(unix.ENOSYS),
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
	}
	if foreignCalls > 0 {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: foreignCalls, SkipTrue: 1}, refuse(unix.ENOSYS))
	}
	for _, r := range rules {
		body := r.body()
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.call, SkipTrue: uint8(len(body))})
		p = append(p, body...)
	}
	return append(p, bpf.RetConstant{Val: resultAllow})
}

// body decides about a call with the rule's number. It always returns.
func (r *rule) body() (p []bpf.Instruction) {
	for _, tests := range r.unless {
		p = append(p, alternative(tests)...)
	}
	return append(p, refuse(r.errno))
}

// alternative allows the call if all tests hold; otherwise the program continues after
// the alternative.
func alternative(tests []test) (p []bpf.Instruction) {
	const perTest = 3
	for i, t := range tests {
		left := uint8(perTest*(len(tests)-i-1) + 1) // instructions to the end, including the result
		p = append(p,
			bpf.LoadAbsolute{Off: uint32(argumentOffset + argumentSize*t.argument), Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask},
			bpf.JumpIf{Cond: t.fails(), Val: t.want, SkipTrue: left})
	}
	return append(p, bpf.RetConstant{Val: resultAllow})
}

// fails returns the comparison that is true if the test does not hold.
func (t *test) fails() bpf.JumpTest {
	if t.not {
		return bpf.JumpEqual
	}
	return bpf.JumpNotEqual
}

func refuse(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: resultErrno | uint32(errno)}
}

// seccompWorks reports whether the kernel takes filters for all threads at once.
func seccompWorks() bool {
	if auditArch == 0 {
		return false
	}
	// With a filter at address 0 a kernel that supports the call and the flag returns
	// EFAULT.
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, 0)
	return errno == unix.EFAULT
}

// restrictCalls has seccomp enforce the policy on all threads.
func restrictCalls(policy *Policy) error {
	raw, err := bpf.Assemble(program(rulesOf(policy)))
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, ins := range raw {
		filter[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: unsafe.SliceData(filter)}
	// The kernel sets no_new_privs for the other threads when it gives them the filter.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_NO_NEW_PRIVS): %w", err)
	}
	thread, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	switch {
	case errno != 0:
		return errno
	case thread != 0:
		return fmt.Errorf("thread %d has a seccomp filter of another origin", thread)
	}
	return nil
}
