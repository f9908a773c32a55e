// Package killstep kills a program before a chosen change of the file system, so that a test sees what
// is left after each.
//
//	func TestMain(m *testing.M) {
//		killstep.Child() // the test program starts the others
//		os.Exit(m.Run())
//	}
//
//	for step := 1; ; step++ {
//		if ended := killstep.Run(t, exec.Command("millrace", "ops", "build", dir), step); ended {
//			break // it makes fewer changes
//		}
//		...
//	}
//
// A seccomp filter has the kernel stop the program, and all that it starts, at each system call that makes,
// renames, links, removes, resizes or syncs a file or a folder, or that writes. It asks the test, which allows the call or kills the
// processes. Nothing waits for a time, and the program is the one that users run.
package killstep

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// childEnv is set in the process that starts a program.
const childEnv = "MILLRACE_KILLSTEP_CHILD"

// socket is the descriptor by which the child gives the listener away.
const socket = 3

// Child starts the program that its arguments name if this process is a child of [Run]. It does not return then.
func Child() {
	if os.Getenv(childEnv) == "" {
		return
	}
	os.Unsetenv(childEnv)
	runtime.LockOSThread() // the thread that gets the filter is the one that becomes the program
	if err := listen(); err != nil {
		fmt.Fprintln(os.Stderr, "killstep:", err)
		os.Exit(99)
	}
	err := syscall.Exec(os.Args[1], os.Args[2:], os.Environ())
	fmt.Fprintln(os.Stderr, "killstep:", err)
	os.Exit(99)
}

// changes are the system calls that change the file system, and writes those that change a file if they are
// given one. Programs write to pipes and to each other in no fixed order.
var (
	changes = slices.Concat([]uint32{
		unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT,
		unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS,
	}, olderChanges)
	writes = []uint32{unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_SENDFILE}
)

// Offsets in the kernel's struct seccomp_data.
const (
	numberOffset = 0
	flagsOffset  = 16 + 2*8 // the third argument of openat
)

// filter asks for each change.
func filter() []bpf.Instruction {
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: numberOffset, Size: 4}}
	for _, call := range slices.Concat(changes, writes) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	}
	return append(program,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_OPENAT, SkipTrue: 3},
		bpf.LoadAbsolute{Off: flagsOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.O_CREAT, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// listen gives this thread the filter and sends its listener to the test.
func listen() error {
	raw, err := bpf.Assemble(filter())
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, ins := range raw {
		code[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: unsafe.SliceData(code)}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	listener, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return errno
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(int(listener))
	unix.CloseOnExec(socket)
	return nil
}

// Run runs a command and kills it, and all that it started, before its change number step, which begin at 1. It reports
// whether the command ended before. Its output goes where cmd says. Where the kernel cannot do this the test is
// skipped, and says so.
func Run(t testing.TB, cmd *exec.Cmd, step int) (ended bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := pair[0], os.NewFile(uintptr(pair[1]), "socket")
	defer unix.Close(ours)
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args...)
	cmd.Path = self
	cmd.Env = append(cmd.Environ(), childEnv+"=1")
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said strings.Builder
	if cmd.Stderr == nil {
		cmd.Stderr = &said
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	listener, err := receive(ours)
	if err != nil {
		cmd.Wait()
		t.Skipf("SKIPPED: a program cannot be stopped at system calls here: %v %s", err, &said)
	}
	defer unix.Close(listener)
	if ended, err = watch(listener, step, cmd.Process.Pid); err != nil {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		t.Fatal(err)
	}
	return ended
}

// receive returns the descriptor that a child sends.
func receive(from int) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.New("the program did not start")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// notification and response are the kernel's struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	address    uint64
	arguments  [6]uint64
}
type response struct {
	id      uint64
	value   int64
	problem int32
	flags   uint32
}

// Commands of a listener.
const receiveNotification, sendResponse = 0xc0502100, 0xc0182101

// changes reports whether the call changes the file system.
func (n *notification) changes() bool {
	if !slices.Contains(writes, uint32(n.call)) {
		return true
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.pid, n.arguments[0]))
	return err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/dev/")
}

// watch allows calls until the one with the number step, before which it kills the process group. It reports
// whether all processes ended before. In any case they have ended when it returns.
func watch(listener, step, group int) (ended bool, err error) {
	for n, dying := 0, false; ; {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return false, err
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents&unix.POLLHUP != 0 {
				return !dying, nil
			}
			continue
		}
		var asked notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), receiveNotification, uintptr(unsafe.Pointer(&asked)))
		switch {
		case errno == unix.ENOENT, errno == unix.EINTR: // its thread has ended, or was interrupted
			continue
		case errno != 0:
			return false, errno
		case dying:
			continue // it waits until its thread is dead
		}
		if asked.changes() {
			n++
		}
		if dying = n == step; dying {
			if err := unix.Kill(-group, unix.SIGKILL); err != nil {
				return false, err
			}
			continue
		}
		answer := response{id: asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), sendResponse, uintptr(unsafe.Pointer(&answer)))
		if errno != 0 && errno != unix.ENOENT {
			return false, errno
		}
	}
}
