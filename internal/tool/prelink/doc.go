// Package prelink copies libraries so that the dynamic linker opens them faster: it
// looks up the names once that the dynamic linker would look up at each start.
//
//	err := prelink.Copy(ctx, "prelinked", "libtensorflow_framework.so.2", "libtensorflow_cc.so.2")
//
// # The question
//
// TensorFlow's two libraries have 640,000 references by name: pointers in
// virtual tables, in the global offset table, and in the table of functions of
// other files (.got.plt). Before the first line of TensorFlow runs, the dynamic
// linker looks up 260,000 names (further references to the same name come from
// its cache). It compares strings of 80 MB and takes two thirds of the time to a
// first batch. Nearly all those names are the library's own.
//
// # What was tried
//
//   - The switch -Bsymbolic does this at link time. We have no object files.
//   - The program prelink also gave each library a fixed address. Then no work is
//     left to do at a start, but the library is where an attacker expects it.
//     glibc has given up its support for it.
//   - One library of both would save the references from one to the other. Those
//     have only 5,000 different names, 4 of 50 ms. In return, operations of other
//     people, which need libtensorflow_framework.so.2 by name, would load it a
//     second time.
//
// # How it works
//
// A reference whose name only this library can define becomes relative: "the address of
// the library plus an offset". The dynamic linker computes these without looking up any
// name, and the library still has a random address.
//
//	.rela.dyn   relative …     by name …                             DT_RELACOUNT = 372,032
//	            relative … and what was by name, by address │ rest   DT_RELACOUNT = 622,592
//
// The table keeps its place and size. References to functions (.rela.plt) are resolved
// at the first call, and until then a pointer in .got.plt leads to the code that does
// so. The dynamic linker adds the library's address to each of these pointers when it
// opens the library. So the copy has the address of the function there, and the first
// call goes straight to it. The table .rela.plt is unchanged: if LD_BIND_NOW requests
// all names at once, the dynamic linker looks them up and finds the same functions.
//
// # Which references
//
// The copy must mean what the original means. So a reference keeps its name if
//
//   - the library does not define it, or defines a variable of each thread, a
//     function that chooses a function, an absolute value, or a symbol of which a
//     process has only one (STB_GNU_UNIQUE);
//   - a library opened before this one defines it too: that definition comes
//     first, and typeinfo and inline variables must have one address;
//   - it is part of the C++ library's own string class: libstdc++ defines that
//     too, and is first in a program that is linked with it.
//
// One difference remains, as with -Bsymbolic: a program or a preloaded library that
// defines one of TensorFlow's own names no longer replaces it inside of TensorFlow.
// malloc and similar functions do not belong to TensorFlow, and can still be replaced.
package prelink
