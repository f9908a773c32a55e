// Package kernelfs tells files on a disk from files that the kernel makes up,
// as those in /proc. The kernel's files look regular, but reading one may block
// for ever, as /proc/kmsg does, or have effects.
package kernelfs
