// Command shell is /bin/sh of the stand-in images. It runs the shell of busybox, or bash if the environment has a variable
// whose name is not an identifier: Debian's busybox drops those, the busybox of the real images does not.
package main
