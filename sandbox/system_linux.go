package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// systemPaths lists the files of the system that TensorFlow, glibc and Go read:
// libraries, time zones, names of hosts, and descriptions of processors and memory.
// None of them is secret. The list has neither all of /etc nor /proc.
func systemPaths(policy *Policy) []string {
	paths := []string{
		"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/local/lib64",
		"/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
		"/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/mime.types",
		"/sys/devices", "/sys/bus", "/sys/class", "/sys/fs/cgroup", "/sys/kernel/mm",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/loadavg", "/proc/vmstat",
		"/proc/sys/vm", "/proc/sys/net/core/somaxconn", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max",
	}
	if policy.Connect { // certificates of authorities
		paths = append(paths, "/etc/ssl", "/etc/pki", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates")
	}
	return append(paths, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
}

// ownEntries lists the files about this process that TensorFlow, Go and Prometheus's
// metrics read. The list does not have all of /proc/self, because environ may have
// secrets, and mem and the folder task give access to both.
func ownEntries() []string {
	var paths []string
	for _, name := range strings.Fields("auxv cgroup cpuset io limits maps mountinfo mounts numa_maps schedstat smaps smaps_rollup stat statm status") {
		paths = append(paths, "/proc/self/"+name)
	}
	return paths
}

// ownFolders lists the folders about this process that may be listed. A descriptor in
// fd opens only if the policy allows the file that it refers to.
func ownFolders() []string { return []string{"/proc/self/fd", "/proc/self/fdinfo", "/proc/self/task"} }

// devices lists the devices that may be read, written and controlled: harmless ones, and
// NVIDIA's where there are any.
func devices() []string {
	paths := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	gpus, _ := filepath.Glob("/dev/nvidia*") // the pattern is correct
	return append(paths, gpus...)
}
