package sandbox

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// refused are the system calls that no part of a service needs.
var refused = []uint32{
	// Other processes: their memory, descriptors and threads.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_TKILL,
	// The list of mounted file systems.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL, unix.SYS_ACCT,
	// Namespaces of the process.
	unix.SYS_SETNS, unix.SYS_UNSHARE,
	// The kernel and the machine.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	// Keys, and io_uring, which makes system calls that no filter sees.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

const (
	all        = 0xffffffff // mask for a whole argument
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	socketType = 0xf // the rest are flags
)

// rulesOf returns the rules for a policy.
func rulesOf(policy *Policy) []rule {
	var rules []rule
	for _, call := range slices.Concat(refused, refusedHere) {
		rules = append(rules, rule{call: call, errno: unix.EPERM})
	}
	rules = append(rules, processRules(policy)...)
	rules = append(rules, socketRules(policy)...)
	// Putting characters into a terminal's input, as if its user had typed them.
	return append(rules, rule{unix.SYS_IOCTL, unix.EPERM, [][]test{{
		{1, all, unix.TIOCSTI, true}, {1, all, unix.TIOCLINUX, true},
	}}})
}

// processRules returns the rules for signals, threads and programs.
func processRules(policy *Policy) []rule {
	// A filter cannot read the flags of clone3, because they are in memory. On a kernel
	// without clone3 glibc uses clone.
	rules := []rule{{call: unix.SYS_CLONE3, errno: unix.ENOSYS}}
	notNew := test{0, namespaces, 0, false}
	if policy.Exec {
		return append(rules, rule{unix.SYS_CLONE, unix.EPERM, [][]test{{notNew}}})
	}
	rules = append(rules, rule{unix.SYS_CLONE, unix.EPERM, [][]test{{notNew, {0, unix.CLONE_THREAD, unix.CLONE_THREAD, false}}}})
	for _, call := range slices.Concat([]uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PIDFD_SEND_SIGNAL}, forks) {
		rules = append(rules, rule{call: call, errno: unix.EPERM})
	}
	// Go interrupts its own threads by signals, and abort signals its own process.
	own := [][]test{{{0, all, uint32(os.Getpid()), false}}}
	for _, call := range []uint32{unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO} {
		rules = append(rules, rule{call, unix.EPERM, own})
	}
	limits := slices.Concat(own, [][]test{{{0, all, 0, false}}})
	return append(rules, rule{unix.SYS_PRLIMIT64, unix.EPERM, limits})
}

// socketRules returns the rules for sockets. Landlock checks only plain TCP. It does
// not check variants of TCP, other protocols, or data that opens a connection.
func socketRules(policy *Policy) []rule {
	family := func(family, kind, protocol uint32) []test {
		return []test{{0, all, family, false}, {1, socketType, kind, false}, {2, all, protocol, false}}
	}
	var allowed [][]test
	if len(policy.Listen) > 0 || policy.Connect {
		for _, f := range []uint32{unix.AF_INET, unix.AF_INET6} {
			allowed = append(allowed, family(f, unix.SOCK_STREAM, 0), family(f, unix.SOCK_STREAM, unix.IPPROTO_TCP))
			if policy.Connect { // to look up names of hosts
				allowed = append(allowed, family(f, unix.SOCK_DGRAM, 0), family(f, unix.SOCK_DGRAM, unix.IPPROTO_UDP))
			}
		}
	}
	if policy.Connect { // to sort a host's addresses by the machine's interfaces
		allowed = append(allowed, family(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), family(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_ROUTE))
	}
	rules := []rule{{unix.SYS_SOCKET, unix.EPERM, allowed}}
	if len(policy.Listen) == 0 {
		rules = append(rules, listenRules(policy)...)
	}
	if policy.Connect {
		return rules
	}
	rules = append(rules, rule{call: unix.SYS_CONNECT, errno: unix.EPERM})
	for call, argument := range map[uint32]int{unix.SYS_SENDTO: 3, unix.SYS_SENDMSG: 2, unix.SYS_SENDMMSG: 3} {
		rules = append(rules, rule{call, unix.EPERM, [][]test{{{argument, unix.MSG_FASTOPEN, 0, false}}}})
	}
	return rules
}

// listenRules returns the rules for a process whose sockets are bound before the
// restriction. Landlock has no rule for listen, which binds an unbound socket to a free
// port.
func listenRules(policy *Policy) []rule {
	var bound [][]test
	for _, fd := range policy.Bound {
		bound = append(bound, []test{{0, all, uint32(fd), false}})
	}
	var netlink [][]test
	if policy.Connect { // glibc binds a netlink socket to list the machine's interfaces; no address of TCP or UDP is as short
		netlink = [][]test{{{2, all, unix.SizeofSockaddrNetlink, false}}}
	}
	return []rule{{unix.SYS_LISTEN, unix.EPERM, bound}, {unix.SYS_BIND, unix.EPERM, netlink}}
}
