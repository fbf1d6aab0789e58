// Package fastinit keeps small processes of the berth binary small. The container shim and the
// test program are berth itself: a 200 MB binary whose packages take 30 MiB and 40 ms to
// initialize.
//
// Such a process does all its work, and exits, in the init function of a package with few imports. Go initializes
// packages in the order of their import paths, each once its imports are initialized. A package of this module that
// imports only os and syscall is initialized after about 30 others. At that time the process has used 1 ms and 1.3 MiB.
// One that imports net/http comes after 330 packages, at 10 ms and 6.4 MiB.
//
// This package has no init function and imports only packages that Go initializes early.
package fastinit
